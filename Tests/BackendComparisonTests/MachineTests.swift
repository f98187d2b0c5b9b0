#if Instrument && DEBUG
import Glibc
import TestSupport
import Testing
import TimerKernel

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
        // A little more than the machine's is a difference of two readings.
        let less = state([(before, Self.reading(1000, busy: 400, own: 500))])
        #expect(less == MachineState(others: 0, waiting: 0, stolen: 0))
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
        let unknown = (Self.reading(0, throttling: [nil]), Self.reading(1000, throttling: Self.stops(1, 0, 0)))
        let none = state([unknown], quota: Self.quota)
        #expect(none.quota == nil && none.waiting == nil, "without an account")
    }
}

/// The facts of this machine for a diagnosis.
struct MachineFactsTests {
    @Test(.works("the facts need half a second of work")) func thisMachineShowsItsFacts() throws {
        let facts = MachineFacts.current
        #expect(try #require(facts.resolution) > 0)
        #expect(facts.timerSlack != nil && facts.preemption != nil && facts.loadAverage != nil)
        #expect((0...100).contains(facts.waitingShare ?? 0))
        #expect((0...110).contains(try #require(facts.othersShare)))
        #expect(facts.findings.allSatisfy { !$0.found.isEmpty })
        let (host, price) = (facts.host, try #require(facts.host.clockRead))
        #expect((1...host.processors).contains(try #require(host.usableProcessors)))
        #expect(price > 1 && price < 100_000 && host.clockSource?.isEmpty == false)
    }

    @Test func theVersionNamesTheModelOfPreemption() {
        let versions = [
            "#1 SMP PREEMPT_DYNAMIC Debian 6.12.1-1", "#1 SMP PREEMPT_RT Debian 6.12.1-1",
            "#1 SMP PREEMPT RT Debian 4.19", "#1 SMP PREEMPT Tue", "#1 SMP Sun Jan 10", "",
        ]
        let models: [String?] = ["PREEMPT_DYNAMIC", "PREEMPT_RT", "PREEMPT_RT", "PREEMPT", "", nil]
        #expect(versions.map { MachineFacts.preemption(version: $0) } == models)
    }

    /// The texts of Debian's kernels, and their defaults.
    @Test func aDynamicKernelRunsWhatItShowsOrWasBootedWith() {
        let (old, new) = ("6.1.0-50-amd64", "7.2.13+deb14-amd64")
        let voluntary = "# CONFIG_PREEMPT_NONE is not set\nCONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_PREEMPT_DYNAMIC=y\n"
        // A kernel, what it shows to root, its boot options, its configuration, and its mode.
        let cases: [(String, String?, String?, String?, String?)] = [
            (old, "none (voluntary) full ", "quiet", nil, "voluntary"), (new, "full (lazy) ", "quiet", nil, "lazy"),
            (new, "(full) lazy ", nil, nil, "full"), (old, nil, "quiet preempt=full", voluntary, "full"),
            (old, nil, "preempt=full preempt=none", nil, "none"), (old, nil, "quiet", voluntary, "voluntary"),
            (old, nil, "quiet", "CONFIG_PREEMPT=y\nCONFIG_PREEMPT_DYNAMIC=y\n", "full"),
            (new, nil, "quiet", "CONFIG_PREEMPT_LAZY=y\n", "lazy"), (new, nil, "preempt=lazy", nil, "lazy"),
            // It does not have the mode, and so ignores the option.
            (new, nil, "preempt=none", nil, nil), (old, nil, "preempt=lazy", nil, nil),
            (old, nil, "quiet", nil, nil), (old, nil, nil, voluntary, nil), ("", nil, nil, nil, nil),
        ]
        let found = cases.map { kernel, shown, options, configuration, _ in
            MachineFacts.preemptionMode(
                on: Synthetic.host(kernel: kernel),
                shown: shown,
                bootOptions: options,
                configuration: configuration
            )
        }
        #expect(found == cases.map(\.4))
    }

    @Test func theFairServerKeepsTheLargestShareOfAllProcessors() {
        let files = ["0 runtime": "50000000", "0 period": "1000000000", "1 runtime": "0", "1 period": "1000000000"]
        let shares = [[0, 1], [1], [0, 2], []].map { MachineFacts.fairShare(of: $0) { files["\($0) \($1)"] } }
        #expect(shares == [5, 0, nil, nil])
    }

    @Test func isolatedProcessorsAreUsedIfTheProcessMayRunThere() {
        let cases: [([Int]?, [String?], Bool?)] = [
            ([0, 1], ["1", nil], true), ([0], ["1", ""], false), ([0], ["", "0-3"], true), ([0], [nil, nil], nil),
            (nil, ["1"], nil), ([0], ["nonsense"], nil),
        ]
        #expect(cases.map { MachineFacts.areSome($0.0, in: $0.1) } == cases.map(\.2))
    }

    @Test func realTimeThreadsHaveAShareOfThePeriod() {
        let files: [(String?, String?)] = [
            ("950000", "1000000"), ("-1", "1000000"), ("0", "1000000"), ("950000", "0"), (nil, "1000000"),
            ("950000", nil), ("much", "1000000"),
        ]
        let shares = files.map { MachineFacts.realTimeShare(runtime: $0, period: $1) }
        #expect(shares == [95, 100, 0, nil, nil, nil, nil])
    }
}

/// The facts of this machine.
struct HostTests {
    @Test func aVirtualMachineIsKnownByItsFlag() {
        let texts = ["processor : 0\nflags : fpu hypervisor lahf\n", "flags : fpu\n", "Features : fp\n"]
        #expect(texts.map { Host.isGuest(in: $0) } == [true, false, nil])
    }

    @Test func theModelIsTheFirstOneNamed() {
        let text = "processor : 0\nmodel name\nmodel name :\nmodel name\t:  A  CPU @ 2.1 GHz\nmodel name : B\n"
        let arm = "CPU implementer\t: 0x41\nCPU part\t: 0xd0c\nCPU implementer\t: 0x41\nCPU part\t: 0xd0b\n"
        let models = [text, "processor : 0\n", arm + arm].map { Host.cpuModel(in: $0) }
        #expect(models == ["A CPU @ 2.1 GHz", nil, "implementer 0x41, part 0xd0b and 0xd0c"])
    }
}

/// Running and waiting of one thread.
struct ThreadAccountTests {
    @Test func workIsRunningTimeAndSleepIsNot() throws {
        let before = try #require(ThreadAccount.current)
        var last = before
        while last.running - before.running < 5_000_000 { last = try #require(ThreadAccount.current) }
        #expect(last.thread == before.thread && last.waiting >= before.waiting)
        TimerClock.sleep(for: .milliseconds(200))
        #expect(try #require(ThreadAccount.current).running - last.running < 100_000_000)
    }
}

/// What the kernel allows this process.
struct RightsTests {
    @Test func rightsAreBitsOfOneLine() {
        let text = "Name:\ttest\nCapPrm:\t000001ffffffffff\nCapEff:\t"
        for right in [Capability.lockMemory, .setPriority] {
            let sets = [
                "0000000000804000\n", "00000000007fbfff\n", "", "\n", "much\n", "1\t2\n", "10000000000000000\n",
            ]
            #expect(sets.map { right.isHeld(in: text + $0) } == [true, false, nil, nil, nil, nil, nil])
            #expect(right.isHeld != nil)
        }
    }

    @Test func aDeviceIsAllowedRefusedOrMissing() {
        // A folder cannot be written to, even by root.
        #expect(["/dev/null", "/nowhere/nothing", "/proc"].map(IdleControl.isWritable) == [true, nil, false])
    }

    @Test func aRealTimePriorityTakesARightOrALimit() async {
        await #expect(processExitsWith: .success) {
            Limit.lockedMemory.set(4096)
            Limit.realTimePriority.set(0)
            #expect(ResourceLimit.lockedMemory.current == 4096 && ResourceLimit.realTimePriority.current == 0)
            // The right does not survive this.
            if getuid() == 0 { setuid(65534) }
            #expect(RealTime.isAllowed == false)
        }
    }
}

/// Programs that run beside this process.
@Suite(.waits("programs run beside this process")) struct ChildProcessTests {
    @Test func theStatusOfAProgramThatHasEndedIsKnown() throws {
        var child = try ChildProcess("/bin/sh", ["-c", "exit 3"])
        while child.poll() == nil { pause(.milliseconds(1)) }
        #expect(child.poll()?.code == 3 && child.poll()?.description == "exit status 3")
    }

    @Test func aMissingProgramOrFileIsAnError() {
        let program = #expect(throws: Failure.self) { _ = try ChildProcess("/nowhere/nothing", []) }
        let file = #expect(throws: Failure.self) { try InputFile.read("/nowhere/nothing") }
        let words = " /nowhere/nothing: No such file or directory (errno 2)"
        #expect([program, file].map(\.?.description) == ["starting\(words)", "reading\(words)"])
        #expect(ProcFile.text("/nowhere/nothing") == nil)
    }
}
#endif
