import Glibc
import PreciseTimer
import TestSupport
import Testing

/// Calls that fail while a service starts: the schedule throws, or the timer ticks. It never traps, hangs
/// or stays silent.
///
/// Faults 3, 4, 5, 10 and 11.
@Suite(.waits("the kernel refuses a call of a start"), .timeLimit(.minutes(60))) struct RefusedStartTests {
    typealias Backend = TimerService.Backend

    /// The calls that fail and the kernel's errors, as for strace's inject.
    static let refusedCalls = [
        "timerfd_create:error=EMFILE", "timerfd_create:error=ENFILE", "timerfd_create:error=ENOMEM",
        "timerfd_settime:error=EINVAL", "epoll_create1:error=EMFILE", "eventfd2:error=ENFILE",
        "epoll_ctl:error=ENOSPC",
    ]

    @Test(.enabled(if: Tools.canTrace, Tools.noTracing), arguments: Backend.available, refusedCalls)
    func aCallRefusedFromTheStartThrowsOrIsNotNeeded(backend: Backend, call: String) async throws {
        let steps = ["schedule=3x10000", "ticks-or-ends=5"]
        let run = try await Probe.run(backend, steps, under: .strace(call), hurried: true)
        #expect(run.outcome.code == 0, "\(run)")
        #expect(run.silence(ticks: 5) == nil, "\(run)")
    }

    /// All descriptor calls after the first few fail.
    @Test(.enabled(if: Tools.canRefuse, Tools.noCompiler), arguments: Backend.available, 0..<12)
    func aTimerfdRefusedAfterSomeThrowsOrIsNotNeeded(backend: Backend, passed: Int) async throws {
        let steps = ["arm=timerfd_create:24:\(passed):1000000", "schedule=3x10000", "ticks-or-ends=5"]
        let run = try await Probe.run(backend, steps, under: .preload(), hurried: true)
        // Foundation ends the process if it is refused a loop's timer after the backend's trial succeeded.
        if backend == .runLoop && run.outcome.signal == SIGILL { return }
        #expect(run.outcome.code == 0, "\(run)")
        #expect(run.silence(ticks: 5) == nil, "\(run)")
    }

    /// The threads of Dispatch begin so late that its first timer is due before it has opened a timerfd. So one firing
    /// would not show that the timerfd was refused.
    @Test(.enabled(if: Tools.canRefuse, Tools.noCompiler))
    func aTimerfdRefusedToLateThreadsThrows() async throws {
        let steps = ["arm=timerfd_create,late_threads:24:2:1000000", "schedule=3x10000", "ticks-or-ends=5"]
        let run = try await Probe.run(.dispatch, steps, under: .preload(), hurried: true)
        #expect(run.outcome.code == 0, "\(run)")
        #expect(run.report?.step("schedule")?.refusal?.code == "refused by the system", "\(run)")
        #expect((run.report?.refusedCalls ?? 0) > 0, "\(run)")
    }

    /// A later call fails: the backend's trial succeeded, and the real call fails after it.
    @Test(
        .enabled(if: Tools.canRefuse, Tools.noCompiler),
        arguments: Backend.available,
        ["epoll_create1:24", "eventfd:24", "epoll_ctl:28"]
    )
    func aCallRefusedLaterThrowsUnlessTheLibraryBelowEndsTheProcess(backend: Backend, call: String) async throws {
        for passed in 1..<5 {
            let steps = ["arm=\(call):\(passed):1000000", "schedule=3x10000", "ticks-or-ends=5"]
            let run = try await Probe.run(backend, steps, under: .preload(), hurried: true)
            // libdispatch and Foundation trap there, and the library cannot prevent it.
            if [.dispatch, .runLoop].contains(backend) && run.outcome.signal == SIGILL { continue }
            #expect(run.outcome.code == 0, "\(run)")
            #expect(run.silence(ticks: 5) == nil, "\(run)")
        }
    }

    /// Threads are refused from the first call on, or from a later one on: Dispatch starts several.
    @Test(.enabled(if: Tools.canRefuse, Tools.noCompiler), arguments: Backend.available, 0..<4)
    func aThreadRefusedAfterSomeThrowsOrIsNotNeeded(backend: Backend, passed: Int) async throws {
        let steps = ["arm=pthread_create:11:\(passed):1000000", "schedule=3x10000", "ticks-or-ends=5", "disarm"]
        let again = ["shutdown", "schedule=3x10000", "ticks=5"]
        let run = try await Probe.run(backend, steps + again, under: .preload(), hurried: true)
        #expect(run.outcome.code == 0, "\(run)")
        #expect(run.silence(ticks: 5) == nil, "\(run)")
        #expect((run.report?.step("schedule")?.seconds ?? 60) < 30)
        #expect(run.report?.steps.last?.isMet == true, "works once there are threads: \(run)")
    }

    @Test(.enabled(if: Tools.canRefuse, Tools.noCompiler), arguments: Backend.available, 0..<4)
    func oneRefusedThreadThrowsOrDelays(backend: Backend, passed: Int) async throws {
        let steps = ["arm=pthread_create:11:\(passed):1", "schedule=3x10000", "ticks-or-ends=5", "schedule=3x10000"]
        let run = try await Probe.run(backend, steps + ["ticks=5"], under: .preload(), hurried: true)
        #expect(run.outcome.code == 0, "\(run)")
        #expect(run.silence(ticks: 5) == nil, "\(run)")
        #expect(run.report?.steps.last?.isMet == true, "\(run)")
    }

    /// The kernel refuses threads to a user who has too many.
    @Test(.enabled(if: Tools.isRoot, Tools.notRoot), arguments: Backend.available)
    func aScheduleByAUserWithoutThreadsIsRefusedAndWorksLater(backend: Backend) async throws {
        let steps = ["nproc", "schedule=3x10000", "no-nproc", "schedule=3x10000", "ticks=5"]
        let run = try await Probe.run(backend, steps, hurried: true)
        #expect(run.outcome.code == 0, "\(run)")
        #expect(run.report?.step("schedule")?.refusal?.code == "refused by the system", "\(run)")
        #expect((run.report?.step("schedule")?.seconds ?? 60) < 30)
        #expect(run.report?.steps.last?.isMet == true, "\(run)")
        #expect(run.silence(ticks: 5) == nil, "\(run)")
    }

    /// The kernel refuses threads to a control group: all, or all but one, two or three.
    @Test(
        .enabled(if: ControlGroup.canBeMade("pids"), ControlGroup.missing("pids")),
        arguments: Backend.available,
        1..<5
    )
    func aScheduleInAGroupWithFewThreadsIsRefusedOrTicks(backend: Backend, limit: Int) async throws {
        let group = try ControlGroup("pids")
        ControlGroup.write("\(limit)", to: "\(group.path)/pids.max")
        let steps = [
            "write=\(group.path)/cgroup.procs:0", "schedule=3x10000", "ticks-or-ends=5",
            "write=\(group.path)/pids.max:max",
            "shutdown", "schedule=3x10000", "ticks=5",
        ]
        let run = try await Probe.run(backend, steps, hurried: true)
        #expect(run.outcome.code == 0, "\(run)")
        #expect(run.silence(ticks: 5) == nil, "\(run)")
        #expect((run.report?.step("schedule")?.seconds ?? 60) < 30)
        #expect(run.report?.steps.last?.isMet == true, "\(run)")
    }

    #if Libevent
    /// Memory is refused only to libevent, because Swift ends the process if one of its allocations fails.
    @Test(.enabled(if: Tools.canRefuse, Tools.noCompiler), arguments: 0..<16, [1, 1_000_000])
    func memoryRefusedToLibeventThrowsOrIsNotNeeded(passed: Int, times: Int) async throws {
        let steps = [
            "arm=malloc:12:\(passed):\(times)", "schedule=1x10000", "disarm", "shutdown", "schedule=1x10000", "ticks=5",
        ]
        let run = try await Probe.run(.libevent, steps, under: .preload(), hurried: true)
        #expect(run.outcome.code == 0, "\(run)")
        #expect(run.report?.steps.last?.isMet == true, "\(run)")
        let last = try #require(run.report?.timers.last, "the second schedule is not refused: \(run)")
        #expect(last.accounted >= 5 && last.flaw == nil, "\(run)")
    }
    #endif
}
