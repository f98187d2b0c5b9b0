import Glibc
import PreciseTimer
import TestSupport
import Testing
import TimerKernel

/// Failing calls and closed descriptors under running timers: each timer ends once with the failure, or goes on as
/// before, and no thread spins. Faults 4 and 6.
@Suite(.waits("the kernel refuses a call of a running alarm"), .timeLimit(.minutes(60))) struct RunningFailureTests {
    typealias Backend = TimerService.Backend

    /// All calls in which a backend may wait.
    static let waits = "epoll_wait,epoll_pwait,epoll_pwait2,poll,ppoll,read"

    private static let running = ["schedule=3x10000", "ticks=5"]
    /// Afterwards, without the fault, a new service works, or reports that it does not.
    private static let again = ["disarm", "shutdown", "schedule=1x10000", "ticks-or-ends=5"]

    @Test(.enabled(if: Tools.canRefuse, Tools.noCompiler), arguments: Backend.available.filter { $0 != .dispatch })
    func aTimerfdThatCanNoLongerBeSetEndsTheTimers(backend: Backend) async throws {
        let steps = Self.running + ["arm=timerfd_settime:22:0:1000000000", "ends=15", "rest=0.3"] + Self.again
        let run = try await Probe.run(backend, steps, under: .preload(), hurried: true)
        try expectEnds(run)
        try expectIdle(run)
    }

    /// A limitation: libdispatch leaves its timer expired, and so is woken again at once. Its thread spins, the
    /// timers tick on their grid, and no code of the library runs that could notice it.
    @Test(.enabled(if: Tools.canRefuse, Tools.noCompiler))
    func dispatchTicksOnIfItsTimerfdCanNoLongerBeSet() async throws {
        let steps = Self.running + ["arm=timerfd_settime:22:0:1000000000", "ticks=30"] + Self.again
        let run = try await Probe.run(.dispatch, steps + ["rest=0.3"], under: .preload())
        #expect(run.outcome.code == 0, "\(run)")
        #expect(run.silence(ticks: 5) == nil, "\(run)")
        #expect((run.report?.refusedCalls ?? 0) > 0)
        #expect(run.report?.step("ticks=30")?.isMet == true, "\(run)")
        // Once the timer can be set again, the thread stops spinning.
        #expect((run.report?.step("rest")?.load ?? 1) < 0.25, "\(run)")
    }

    @Test(.enabled(if: Tools.canRefuse, Tools.noCompiler), arguments: Backend.available, [EBADF, EINVAL])
    func aWaitThatFailsOnceEndsTheTimersOrIsSurvived(backend: Backend, error: Int32) async throws {
        let steps = Self.running + ["arm=\(Self.waits):\(error):0:1", "ticks-or-ends=20", "rest=0.3"] + Self.again
        let run = try await Probe.run(backend, steps, under: .preload(), hurried: true)
        // libdispatch takes this for a descriptor that the program closed, and traps, without code of the library.
        if backend == .dispatch && error == EBADF { return #expect(run.outcome.signal == SIGILL, "\(run)") }
        #expect(run.outcome.code == 0, "\(run)")
        #expect(run.silence(ticks: 5) == nil, "\(run)")
        #expect((run.report?.step("rest")?.load ?? 1) < 0.25, "\(run)")
    }

    @Test(.enabled(if: Tools.canRefuse, Tools.noCompiler), arguments: Backend.available, [EBADF, EINVAL])
    func aWaitThatFailsForeverEndsTheTimers(backend: Backend, error: Int32) async throws {
        let steps = Self.running + ["arm=\(Self.waits):\(error):0:1000000000", "ends=15", "rest=0.3"] + Self.again
        let run = try await Probe.run(backend, steps, under: .preload(), hurried: true)
        if backend == .dispatch && error == EBADF { return #expect(run.outcome.signal == SIGILL, "\(run)") }
        try expectEnds(run)
        if [.timerFD, .hybrid, .libevent].contains(backend) { expectOwnFailure(run) }
        // While the call fails, a thread of libdispatch repeats epoll_wait at once.
        if backend == .dispatch { return }
        try expectIdle(run)
    }

    #if Libevent
    /// The loop itself fails, although its timer could still be read.
    @Test(.enabled(if: Tools.canRefuse, Tools.noCompiler), arguments: [EBADF, EINVAL])
    func aFailedLibeventLoopEndsTheTimersByItself(error: Int32) async throws {
        let waits = "epoll_wait,epoll_pwait,epoll_pwait2"
        let steps = Self.running + ["arm=\(waits):\(error):0:1000000000", "ends=15", "rest=0.3"] + Self.again
        let run = try await Probe.run(.libevent, steps, under: .preload(), hurried: true)
        try expectEnds(run)
        expectOwnFailure(run)
        try expectIdle(run)
    }
    #endif

    /// The kernel does not tell a thread that sleeps in `read`.
    @Test func theWatchOfTheWallClockEndsIfItsDescriptorIsClosedFromOutside() async {
        await #expect(processExitsWith: .success) {
            DispatchDescriptors.open()
            let before = Set(ProcFS.descriptors(on: "anon_inode:[timerfd]"))
            let (watch, failures) = (try WallClockWatch(longestSleep: .milliseconds(20)), Notes<TimerError>())
            let own = ProcFS.descriptors(on: "anon_inode:[timerfd]").filter { !before.contains($0) }
            #expect(own.count == 1)
            try watch.start(onCheck: { _ in }, onFailure: failures.append)
            pause(.milliseconds(50))
            #expect(failures.all.isEmpty, "the thread wakes, and sleeps again")
            for descriptor in own { close(descriptor) }
            #expect(eventually { !failures.all.isEmpty })
            watch.stop()
            #expect(failures.all.count == 1)
        }
    }

    /// Another part of the program closes the descriptors, and opens files that get their numbers.
    @Test(arguments: Backend.available, ["[timerfd]", "[eventpoll]", "[eventfd]", "all"])
    func descriptorsClosedFromOutsideEndTheTimersAndCloseNoOtherFile(backend: Backend, kind: String) async throws {
        // A trial of Dispatch waits for seconds before it refuses.
        let count = backend == .dispatch ? Effort.of(1, thorough: 4) : 4
        let starts = Array(repeating: ["schedule=1x10000", "ticks-or-ends=5", "shutdown"], count: count)
        let steps =
            Self.running
            + ["close=\(kind)", "reuse", "ticks-or-ends=20", "rest=0.3", "shutdown", "rest=0.3", "still-open"]
            + starts.joined()
        let run = try await Probe.run(backend, steps, hurried: true)
        // libdispatch and Foundation trap if their epoll descriptor is a different file, without code of the library.
        if [.dispatch, .runLoop].contains(backend) && kind != "[timerfd]" && run.outcome.signal == SIGILL { return }
        #expect(run.outcome.code == 0, "\(run)")
        // Some backends have no descriptor of that kind, and go on.
        #expect(run.silence(ticks: 5) == nil, "\(run)")
        #expect(run.report?.step("ticks-or-ends")?.isMet == true, "\(run)")
        // libdispatch's descriptors are closed, but it keeps their numbers. The trial at a start notices this, unless
        // a busy machine shows it each of the trial's timers only when that timer is due. Then the service fails
        // later, or the next start notices it.
        if backend == .dispatch && kind == "[timerfd]" {
            let refusals = run.report?.steps.compactMap(\.refusal) ?? []
            let failures = run.report?.timers.dropFirst(3).flatMap(\.failures) ?? []
            #expect(!refusals.isEmpty || !failures.isEmpty, "\(run)")
        }
        // If its epoll descriptor is another file, a thread of libdispatch repeats epoll_wait for ever, unless it slept
        // there when the descriptor was closed.
        if backend != .dispatch || kind == "[timerfd]" || kind == "[eventfd]" {
            try expectIdle(run)
        } else {
            #expect((run.report?.step("rest")?.load ?? 2) < 1.25, "no other thread spins: \(run)")
        }
        // A limitation: in the end, libevent closes its eventfd by number, and Foundation all of a
        // loop's descriptors.
        let isLimited = backend == .runLoop || backend == .libevent && kind == "[eventfd]"
        if !isLimited && run.report?.step("reuse")?.isMet == true {
            #expect(run.report?.step("still-open")?.isMet == true, "a file of the host was closed: \(run)")
        }
    }

    /// Expects that every timer ended once, because its backend failed, and that later schedules got an answer.
    private func expectEnds(_ run: Probe.Run) throws {
        #expect(run.outcome.code == 0, "\(run)")
        let report = try #require(run.report, "\(run)")
        #expect(report.step("ends")?.isMet == true, "\(run)")
        #expect(report.timers.prefix(3).filter { $0.ends.count == 1 }.count == 3, "\(run)")
        #expect(run.silence(ticks: 5) == nil, "\(run)")
    }

    /// Expects that the service's own thread reported the failure, and not the watchdog, which takes seconds.
    private func expectOwnFailure(_ run: Probe.Run) {
        let failures = run.report?.timers.flatMap(\.failures) ?? []
        let isOwn = !failures.isEmpty && failures.allSatisfy { (text: String) in !text.contains("did not fire") }
        #expect(isOwn, "\(failures)")
    }

    /// Expects that no thread spins while the service is idle. A spinning thread would use a whole processor, or a
    /// third of one beside others.
    private func expectIdle(_ run: Probe.Run) throws {
        let rest = try #require(run.report?.step("rest"), "\(run)")
        #expect(rest.load < 0.25, "\(run)")
    }
}
