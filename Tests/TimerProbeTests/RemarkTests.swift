import HostSystem
import PreciseTimer
import Testing
import TimerProbe
import TimerResults

/// Differences between a plan and its measurement.
struct RemarkTests {
    /// Rows of each kind.
    private static let rows = [
        Row(.backend(.timerFD)), Row(.peer(.dispatchSource)), Row(.peer(.taskSleep)), Row(.peer(.libevent)),
        Row(.reference(.nanosleep)), Row(.referee),
    ]

    private static func host(usable: Int? = 2, quota: Double? = nil, build: Host.Build = .release) -> Host {
        Host(
            system: "Linux",
            kernel: "6.1",
            machine: "x86_64",
            cpu: nil,
            processors: 2,
            build: build,
            usableProcessors: usable,
            cpuQuota: quota
        )
    }

    private static func remarks(
        on host: Host = host(),
        _ change: (inout MeasurementPlan.Request) -> Void = { _ in }
    ) throws -> [String] {
        Remark.all(for: try Short.plan(rows, change), on: host).map { "\($0.asked): \($0.obtained)" }
    }

    @Test func aPlanThatCanBeCarriedOutHasNoRemarks() throws {
        #expect(try Self.remarks().isEmpty)
        #expect(try Self.remarks(on: Self.host(usable: nil, quota: 2)).isEmpty)
        #expect(try Self.remarks { $0.loads = [.cpu(2), .memory] }.isEmpty)
    }

    @Test func moreSpinningThreadsThanProcessorsAreRemarkedOn() throws {
        let found = try Self.remarks(on: Self.host(usable: 1)) { $0.loads = [.cpu(1), .cpu(2)] }
        #expect(found == ["2 processors: 1 of them", "--load cpu:2: 2 threads on 1 processor"])
    }

    @Test func aLimitOfTheControlGroupIsRemarkedOn() throws {
        #expect(try Self.remarks(on: Self.host(quota: 1.5)) == ["the time of 2 processors: that of 1.50"])
    }

    @Test func aDebugBuildIsRemarkedOn() throws {
        let found = try Self.remarks(on: Self.host(build: .debug))
        #expect(found == ["a measurement of the library: one of its debug build"])
    }

    @Test func peersHaveTheSuspendingClockOnly() throws {
        let peers = "peer-dispatch-source, peer-task-sleep, peer-libevent"
        #expect(try Self.remarks { $0.clock = .wall } == ["--clock wall: suspending for \(peers)"])
    }

    @Test func cyclictestHasNoContinuousClock() throws {
        let found = try Self.remarks { $0.clock = .continuous }
        #expect(found.first == "cyclictest: left out")
    }

    @Test(
        arguments: [
            (.inline, []), (.main, ["--deliver main: inline for peer-libevent, floor-nanosleep, cyclictest"]),
            (
                .queue,
                ["--deliver queue: inline for peer-task-sleep, peer-libevent, floor-nanosleep, cyclictest"]
            ),
        ] as [(HandlerPlace, [String])]
    )
    func rowsWithInlineHandlersOnlyAreNamed(_ place: HandlerPlace, _ expected: [String]) throws {
        #expect(try Self.remarks { $0.delivery = place } == expected)
    }

    @Test(arguments: [Load.churn(10), .pending(10)])
    func loadsOfTimersAreForBackendsOnly(_ load: Load) throws {
        let others = Self.rows.dropFirst().map(\.name).joined(separator: ", ")
        #expect(try Self.remarks { $0.loads = [load] } == ["--load \(load.name): nothing for \(others)"])
    }

    @Test func cyclictestHasOneTimerAndNoHandler() throws {
        let found = try Self.remarks { request in
            request.timers = 3
            request.loads = [.handler(.microseconds(1))]
        }
        #expect(found == ["--load handler:1us: nothing for cyclictest", "--timers 3: 1 for cyclictest"])
    }

    @Test(
        arguments: [
            (.nanoseconds(9_999), "its shortest period is 10 µs"), (.nanoseconds(16_666_667), "its periods are whole"),
            (.seconds(2_148), "its longest period is"), (.microseconds(10), nil), (.milliseconds(1), nil),
        ] as [(Duration, String?)]
    )
    func cyclictestIsLeftOutForSomePeriods(_ period: Duration, _ expected: String?) throws {
        let plan = try Short.plan([Row(.referee), Row(.reference(.timerFD))]) { request in
            request.period = period
            request.turn = period * 10
        }
        #expect(plan.leftOut.count == (expected == nil ? 0 : 1))
        if let expected, let remark = plan.leftOut.first { #expect(remark.reason.hasPrefix(expected)) }
    }
}

/// Disturbances of a round.
@Suite struct DisturbanceTests {
    @Test func onlyALongGapIsAStall() {
        #expect(StallCheck.disturbance(longestGap: 500_000, "after it") == nil)
        #expect(
            StallCheck.disturbance(longestGap: 1_234_400, "after it")
                == "a busy thread stood still for 1234 µs after it"
        )
    }

    @Test func theStolenTimeIsTheEighthNumber() throws {
        let stat = "cpu  10 20 30 400 5 6 7 22 1000 2000\ncpu0 1 1 1 1 1 1 1 1 1 1\nintr 5\n"
        let time = try #require(StealTime(stat: stat))
        #expect(time.stolen == 22)
        // The time of users includes that of guests.
        #expect(time.total == 500)
    }

    @Test(arguments: ["", "\n", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 3 4 5 6 7", "cpu a b c d e f g h", "intr 1"])
    func otherTextsHaveNoStolenTime(stat: String) {
        #expect(StealTime(stat: stat) == nil)
    }

    @Test func onlyMuchStolenTimeIsADisturbance() {
        let start = StealTime(stolen: 100, total: 1000)
        #expect(start.disturbance(until: StealTime(stolen: 102, total: 1100)) == nil)
        #expect(
            start.disturbance(until: StealTime(stolen: 105, total: 1100))
                == "other guests of the host took 5.0 % of the processors' time"
        )
        #expect(start.disturbance(until: start) == nil)
        #expect(start.disturbance(until: nil) == nil)
        #expect(start.disturbance(until: StealTime(stolen: 50, total: 1100)) == nil)
    }
}
