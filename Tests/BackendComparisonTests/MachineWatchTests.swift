#if Instrument && DEBUG
import Testing

@testable import BackendComparison

/// What the machine did besides, from accounts that were made up.
@Suite struct MachineWatchTests {
    private typealias Reading = MachineWatch.Reading

    private static let quota = CPUQuota { path in
        ["/proc/self/cgroup": "0::/a\n", "/sys/fs/cgroup/a/cpu.max": "5000 100000\n"][path]
    }

    private static func reading(
        _ milliseconds: UInt64,
        waiting: UInt64? = 0,
        busy: UInt64 = 0,
        stolen: UInt64 = 0,
        own: Int64? = 0,
        throttling: [Throttling?] = []
    ) -> Reading {
        var reading = Reading(time: milliseconds * 1_000_000)
        reading.pressure = waiting.map { $0 * 1_000_000 }
        let total = milliseconds * 2_000_000
        reading.processors = ProcessorTime(busy: busy * 1_000_000, stolen: stolen * 1_000_000, total: total)
        (reading.own, reading.throttling) = (own.map { $0 * 1_000_000 }, throttling)
        return reading
    }

    private func state(
        _ turns: [(Reading, Reading)],
        under load: Load = .idle,
        quota: CPUQuota = CPUQuota { _ in nil }
    ) -> MachineState {
        var watch = MachineWatch(quota: quota, processors: [0, 1])
        for (before, after) in turns { watch.add(from: before, to: after, under: load.name) }
        return watch.state(loadAverage: nil)
    }

    @Test func otherProgramsHaveWhatThisProcessHasNot() {
        let turn = (Self.reading(0), Self.reading(1000, waiting: 100, busy: 500, stolen: 100, own: 100))
        #expect(state([turn]) == MachineState(others: 20, waiting: 10, stolen: 5))
        // Programs of ours are not in our account, and others wait because of a load of ours.
        #expect(state([turn], under: .cpu(1)) == MachineState(stolen: 5), "no program steals a guest's time")
    }

    /// The kernel weighs the pressure of its processors at each reading, and many readings lose short waits.
    @Test func theTurnsUnderOneLoadAreReadTogether() {
        var watch = MachineWatch(quota: CPUQuota { _ in nil }, processors: [0, 1])
        var readings: [Reading] = (0...3).map { Self.reading(1000 * $0, waiting: 100 * $0) }
        let read = { readings.removeFirst() }
        watch.beginLap()
        watch.beginTurn(under: "idle", reading: read)
        watch.beginTurn(under: "idle", reading: read)
        #expect(readings.count == 3)
        watch.beginTurn(under: "busy", reading: read)
        watch.beginTurn(under: "busy", reading: read)
        watch.endLap(reading: read)
        #expect(readings.count == 1)
        #expect(watch.lap.waiting == 10 && watch.state(loadAverage: nil).waiting == 10)
        watch.endLap(reading: read)
        #expect(readings.count == 1, "no turn is open")
        watch.beginLap()
        watch.add(from: Self.reading(0), to: Self.reading(1000, stolen: 1000), under: "busy")
        #expect(watch.lap.stolen == nil, "it disturbed no turn without programs of ours")
    }

    @Test func aMissingAccountIsAMissingShare() {
        let before = Self.reading(0)
        // Without our own account, or if the machine's does not contain it, nobody knows what others had.
        #expect(state([(before, Self.reading(1000, busy: 500, own: nil))]) == MachineState(waiting: 0, stolen: 0))
        #expect(state([(before, Self.reading(1000, busy: 0, own: 500))]) == MachineState(waiting: 0, stolen: 0))
        #expect(state([(before, Self.reading(1000, waiting: nil, busy: 200))]) == MachineState(others: 10, stolen: 0))
        // A count that went back, as after a migration.
        #expect(state([(Self.reading(0, stolen: 50), Self.reading(1000))]) == MachineState(others: 0, waiting: 0))
        #expect(state([]) == MachineState())
    }

    private static func stops(_ periods: UInt64, _ stops: UInt64, _ milliseconds: UInt64) -> [Throttling?] {
        [Throttling(periods: periods, stops: stops, nanoseconds: milliseconds * 1_000_000)]
    }

    /// What the quota stops counts as waiting: so it says nothing of others.
    @Test func theWaitingOfATurnThatTheQuotaStoppedIsMissing() {
        let quiet = (
            Self.reading(0, throttling: Self.stops(5, 3, 90)),
            Self.reading(1000, waiting: 40, throttling: Self.stops(15, 3, 90))
        )
        let stopped = (
            Self.reading(1000, waiting: 40, throttling: Self.stops(15, 3, 90)),
            Self.reading(2000, waiting: 940, throttling: Self.stops(25, 12, 990))
        )
        let both = state([quiet, stopped], quota: Self.quota)
        #expect(both.waiting == 4 && !both.isBusy)
        #expect(both.quota == QuotaStops(limit: 0.05, periods: 20, stops: 9, share: 45))
        let one = state([stopped], quota: Self.quota)
        #expect(one.waiting == nil && one.quota?.share == 90)
    }

    @Test func aQuotaWithoutAnAccountHasNone() {
        let turn = (Self.reading(0, throttling: [nil]), Self.reading(1000, throttling: Self.stops(1, 0, 0)))
        let found = state([turn], quota: Self.quota)
        #expect(found.quota == nil && found.waiting == nil)
    }
}
#endif
