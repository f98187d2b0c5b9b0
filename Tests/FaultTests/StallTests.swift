import Foundation
import Glibc
import PreciseTimer
import TestSupport
import Testing

/// A process that stands still, or hardly runs: ticks are late and counted, never early, never lost. Faults 12 to 16.
@Suite(.waits("a process is stopped, or gets no processor"), .timeLimit(.minutes(60))) struct StallTests {
    typealias Backend = TimerService.Backend

    /// The policies, in the probe's notation.
    static let policies = ["skip", "1000", "5", "delay"]
    /// The period of the probe's timer, in nanoseconds.
    private static let period: UInt64 = 20_000_000

    private static func steps(_ policy: String, _ mark: Mark) -> [String] {
        let begin = ["policy=\(policy)", "schedule=1x20000", "ticks=3"]
        return begin + ["mark=\(mark.path)", "unmarked=\(mark.path)", "ticks=30", "ticks=1"]
    }

    /// Fault 47. A yield would end the thread's time until its next period.
    @Test(.enabled(if: Tools.canRefuse && ProcFS.maySchedule, "needs a C compiler and CAP_SYS_NICE"))
    func aServiceWithADeadlinePolicyNeverYieldsTheProcessor() async throws {
        let run = try await Probe.run(.timerFD, ["deadline-never-yields"], under: .preload())
        #expect(run.outcome.code == 0 && run.report?.steps.last?.isMet == true, "\(run)")
    }

    @Test(arguments: Backend.available, policies)
    func timersOfAStoppedProcessFollowTheirPolicy(backend: Backend, policy: String) async throws {
        let mark = Mark()
        let run = try await Probe.run(backend, Self.steps(policy, mark)) { id in
            mark.wait()
            kill(id, SIGSTOP)
            var info = unsafe siginfo_t()
            unsafe waitid(P_PID, id_t(id), &info, WSTOPPED | WEXITED | WNOWAIT)
            pause(.milliseconds(300))
            kill(id, SIGCONT)
            mark.remove()
        }
        // 15 deadlines, or 14 if the process took a moment to stop.
        try expect(run, policy, missed: 13)
    }

    @Test(
        .enabled(if: ControlGroup.canBeMade("freezer"), ControlGroup.missing("freezer")),
        arguments: Backend.available,
        policies
    )
    func timersOfAFrozenProcessFollowTheirPolicy(backend: Backend, policy: String) async throws {
        let mark = Mark()
        let group = try ControlGroup("freezer")
        let path = group.path
        let run = try await Probe.run(backend, Self.steps(policy, mark)) { id in
            ControlGroup.write("\(id)", to: "\(path)/cgroup.procs")
            mark.wait()
            ControlGroup.write("FROZEN", to: "\(path)/freezer.state")
            _ = eventually { (try? String(contentsOfFile: "\(path)/freezer.state", encoding: .utf8)) == "FROZEN\n" }
            pause(.milliseconds(200))
            ControlGroup.write("THAWED", to: "\(path)/freezer.state")
            mark.remove()
        }
        try expect(run, policy, missed: 8)
    }

    /// The quota is two milliseconds in each tenth of a second.
    @Test(
        .enabled(if: ControlGroup.canBeMade("cpu"), ControlGroup.missing("cpu")),
        arguments: Backend.available
    )
    func aProcessWithLittleProcessorTimeLosesNoDeadline(backend: Backend) async throws {
        let group = try ControlGroup("cpu")
        guard ControlGroup.write("2000", to: "\(group.path)/cpu.cfs_quota_us") else {
            Issue.record("this kernel has no CPU quota")
            return
        }
        let steps = [
            "schedule=1x10000", "ticks=3", "write=\(group.path)/cgroup.procs:0", "rest=1",
            "write=/sys/fs/cgroup/cpu/cgroup.procs:0", "ticks=5",
        ]
        let run = try await Probe.run(backend, steps)
        #expect(run.report?.step("write")?.isMet == true, "\(run)")
        try expectExactCount(run, period: ProbeReport.Timer.tenMilliseconds)
    }

    /// In each process, four threads for each processor, and one more, which never pause.
    @Test(.alone("threads keep all processors busy")) func aBusyProcessLosesNoDeadline() async throws {
        let threads = ProcessInfo.processInfo.activeProcessorCount * 4 + 1
        let steps = ["schedule=1x10000", "ticks=3", "spin=\(threads)x0.5", "rest=0.5", "ticks=5"]
        try await onEachBackend { backend in try await Probe.run(backend, steps) }
    }

    /// Real-time threads occupy every processor for 0.9 s, below the kernel's limit of 0.95 s in a second.
    @Test(.alone("threads keep all processors busy"), .enabled(if: Tools.canBeRealTime, Tools.noRealTime))
    func aProcessStarvedByRealTimeThreadsLosesNoDeadline() async throws {
        let marks = Backend.available.map { _ in Mark() }
        let threads = ProcessInfo.processInfo.activeProcessorCount
        async let starved = onEachBackend { backend in
            let mark = marks[Backend.available.firstIndex(of: backend) ?? 0]
            let rest = ["mark=\(mark.path)", "unmarked=\(mark.path)", "ticks=5"]
            return try await Probe.run(backend, ["schedule=1x10000", "ticks=3"] + rest)
        }
        try await onOwnThread { for mark in marks { mark.wait() } }
        let hog = try await Probe.run(
            .timerFD,
            ["spin=\(threads)x0.9", "rest=1"],
            under: Probe.Means(command: ["chrt", "-f", "50"])
        )
        #expect(hog.outcome.code == 0 && hog.report?.step("spin")?.isMet == true, "\(hog)")
        for mark in marks { mark.remove() }
        for run in try await starved {
            let missed = run.report?.timers.first?.ticks.map(\.missed).max() ?? 0
            #expect(missed >= 20, "its thread was starved: \(run)")
        }
    }

    /// Runs a probe of each backend at the same time, and expects that none of them loses a deadline.
    @discardableResult
    private func onEachBackend(
        _ run: @escaping @Sendable (Backend) async throws -> Probe.Run
    ) async throws -> [Probe.Run] {
        let runs = try await withThrowingTaskGroup { group in
            for backend in Backend.available { group.addTask { try await run(backend) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for run in runs { try expectExactCount(run, period: ProbeReport.Timer.tenMilliseconds) }
        return runs
    }

    /// Expects the ticks of a policy after a stall of at least that many deadlines.
    private func expect(_ run: Probe.Run, _ policy: String, missed: UInt64) throws {
        #expect(run.outcome.code == 0 && run.trouble(ticks: 30) == nil, "\(run)")
        let ticks = try #require(run.report?.timers.first?.ticks)
        let late = ticks.filter { $0.delivered - $0.deadline >= Self.period }
        // The last tick has no successor, and a stall of the machine may be longer than that of the test.
        let most = try #require(ticks.dropLast().max { $0.missed < $1.missed })
        switch policy {
        case "skip": #expect(most.missed >= missed, "\(run)")
        case "1000":
            #expect(ticks.map(\.missed).max() == 0, "\(run)")
            #expect(late.count >= missed, "\(run)")
        case "5":
            // The last tick of a round counts the rest.
            #expect(most.missed >= missed - 5, "\(run)")
            #expect(ticks.filter { $0.woke == most.woke }.count == 5, "\(run)")
        default:
            #expect(most.missed >= missed, "\(run)")
            // The grid restarts at the late tick.
            let next = try #require(ticks.first { $0.deadline > most.deadline })
            #expect(next.deadline >= most.woke + Self.period, "\(run)")
            #expect(next.deadline <= most.delivered + Self.period, "\(run)")
        }
    }

    /// Expects that each tick stands for exactly the deadlines that had passed.
    private func expectExactCount(_ run: Probe.Run, period: UInt64) throws {
        #expect(run.outcome.code == 0 && run.trouble(ticks: 40) == nil, "\(run)")
        let ticks = try #require(run.report?.timers.first?.ticks)
        let tooFew = ticks.filter { $0.deadline + ($0.missed + 1) * period <= $0.woke }
        let tooMany = ticks.filter { $0.deadline + $0.missed * period > $0.delivered }
        #expect(tooFew.isEmpty && tooMany.isEmpty, "\(tooFew) \(tooMany)")
    }
}
