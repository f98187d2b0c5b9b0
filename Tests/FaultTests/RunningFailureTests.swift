import Glibc
import PreciseTimer
import TestSupport
import Testing

/// Calls that fail, and descriptors that are closed, under running timers: each timer ends once with the failure, or goes
/// on as before, and no thread spins. Faults 4 and 6.
@Suite(.timeLimit(.minutes(10))) struct RunningFailureTests {
    typealias Backend = TimerService.Backend

    /// Everything that a backend may wait in.
    static let waits = "epoll_wait,epoll_pwait,epoll_pwait2,poll,ppoll,read"

    private static let running = ["schedule=3x10000", "ticks=5"]
    /// Afterwards, without the fault, a new service works, or says that it does not.
    private static let again = ["disarm", "shutdown", "schedule=1x10000", "ticks-or-ends=5"]

    @Test(.enabled(if: Tools.canRefuse, Tools.noCompiler), arguments: Backend.available.filter { $0 != .dispatch })
    func aTimerfdThatCannotBeSetAnyMoreEndsTheTimers(backend: Backend) async throws {
        let steps = Self.running + ["arm=timerfd_settime:22:0:1000000000", "ends=15", "rest=1"] + Self.again
        let run = try await Probe.run(backend, steps, under: .preload(), limit: 90)
        try expectEnds(run)
        try expectIdle(run)
    }

    /// A limitation: libdispatch leaves its timer as it was, expired, and so is woken again at once. Its thread spins, the
    /// timers tick on their grid, and no code of ours runs that could notice.
    @Test(.enabled(if: Tools.canRefuse, Tools.noCompiler))
    func dispatchTicksOnIfItsTimerfdCannotBeSetAnyMore() async throws {
        let steps = Self.running + ["arm=timerfd_settime:22:0:1000000000", "ticks=100"] + Self.again
        let run = try await Probe.run(.dispatch, steps + ["rest=1"], under: .preload())
        #expect(run.outcome.code == 0, "\(run)")
        #expect(run.silence(ticks: 5) == nil, "\(run)")
        #expect((run.report?.refusedCalls ?? 0) > 0)
        #expect(run.report?.step("ticks=100")?.isMet == true, "\(run)")
        // Once it can be set again, the spinning is over.
        #expect((run.report?.step("rest")?.load ?? 1) < 0.1, "\(run)")
    }

    @Test(.enabled(if: Tools.canRefuse, Tools.noCompiler), arguments: Backend.available, [EBADF, EINVAL])
    func aWaitThatFailsOnceEndsTheTimersOrIsGoneOnFrom(backend: Backend, error: Int32) async throws {
        let steps = Self.running + ["arm=\(Self.waits):\(error):0:1", "ticks-or-ends=20", "rest=1"] + Self.again
        let run = try await Probe.run(backend, steps, under: .preload(), limit: 90)
        // It takes this for a descriptor that the program closed, and no code of ours runs there.
        if backend == .dispatch && error == EBADF { return #expect(run.outcome.signal == SIGILL, "\(run)") }
        #expect(run.outcome.code == 0, "\(run)")
        #expect(run.silence(ticks: 5) == nil, "\(run)")
        #expect((run.report?.step("rest")?.load ?? 1) < 0.1, "\(run)")
    }

    @Test(.enabled(if: Tools.canRefuse, Tools.noCompiler), arguments: Backend.available, [EBADF, EINVAL])
    func aWaitThatFailsForeverEndsTheTimers(backend: Backend, error: Int32) async throws {
        let steps = Self.running + ["arm=\(Self.waits):\(error):0:1000000000", "ends=15", "rest=1"] + Self.again
        let run = try await Probe.run(backend, steps, under: .preload(), limit: 90)
        if backend == .dispatch && error == EBADF { return #expect(run.outcome.signal == SIGILL, "\(run)") }
        try expectEnds(run)
        if [.timerFD, .libevent].contains(backend) { expectOwnFailure(run) }
        // libdispatch calls epoll_wait again at once, in a thread of its own, as long as it fails.
        if backend == .dispatch { return }
        try expectIdle(run)
    }

    #if Libevent
    /// The loop itself fails, and its timer could still be read.
    @Test(.enabled(if: Tools.canRefuse, Tools.noCompiler), arguments: [EBADF, EINVAL])
    func aLoopOfLibeventThatFailsEndsTheTimersByItself(error: Int32) async throws {
        let waits = "epoll_wait,epoll_pwait,epoll_pwait2"
        let steps = Self.running + ["arm=\(waits):\(error):0:1000000000", "ends=15", "rest=1"] + Self.again
        let run = try await Probe.run(.libevent, steps, under: .preload(), limit: 90)
        try expectEnds(run)
        expectOwnFailure(run)
        try expectIdle(run)
    }
    #endif

    /// Some other part of the program closes the descriptors, and opens files that get their numbers.
    @Test(arguments: Backend.available, ["[timerfd]", "[eventpoll]", "[eventfd]", "all"])
    func descriptorsClosedFromOutsideEndTheTimersAndNoOtherFile(backend: Backend, kind: String) async throws {
        let start = ["schedule=1x10000", "ticks-or-ends=5", "shutdown"]
        let steps =
            Self.running
            + ["close=\(kind)", "reuse", "ticks-or-ends=20", "rest=1", "shutdown", "rest=0.3", "still-open"]
            + start + start + start
        let run = try await Probe.run(backend, steps, limit: 90)
        // libdispatch and Foundation trap if their epoll descriptor is not one: no code of ours runs there.
        if [.dispatch, .runLoop].contains(backend) && kind != "[timerfd]" && run.outcome.signal == SIGILL { return }
        #expect(run.outcome.code == 0, "\(run)")
        // Some backends have no descriptor of the kind, and go on.
        #expect(run.silence(ticks: 5) == nil, "\(run)")
        #expect(run.report?.step("ticks-or-ends")?.isMet == true, "\(run)")
        // Its descriptors are gone, and it keeps their numbers: a start that tries it finds that out, unless a busy machine
        // makes it see each of the trial's timers when that is due. Then the service fails later; the next start may see it.
        if backend == .dispatch && kind == "[timerfd]" {
            let refusals = run.report?.steps.compactMap(\.refusal) ?? []
            #expect(!refusals.isEmpty, "\(run)")
        }
        // With another file in place of its epoll, libdispatch's own thread calls epoll_wait again at once, for ever.
        if backend != .dispatch || kind != "[eventpoll]" { try expectIdle(run) }
        // A limitation: libevent closes its eventfd, and Foundation all of a loop's, by their numbers in the end.
        let isLimited = backend == .runLoop || backend == .libevent && kind == "[eventfd]"
        if !isLimited && run.report?.step("reuse")?.isMet == true {
            #expect(run.report?.step("still-open")?.isMet == true, "a file of the host's was closed: \(run)")
        }
    }

    /// Every timer has ended, once, because its backend failed; and what was scheduled later was answered.
    private func expectEnds(_ run: Probe.Run) throws {
        #expect(run.outcome.code == 0, "\(run)")
        let report = try #require(run.report, "\(run)")
        #expect(report.step("ends")?.isMet == true, "\(run)")
        #expect(report.timers.prefix(3).filter { $0.ends.count == 1 }.count == 3, "\(run)")
        #expect(run.silence(ticks: 5) == nil, "\(run)")
    }

    /// Its own thread has told of it, and not the caretaker, which takes seconds.
    private func expectOwnFailure(_ run: Probe.Run) {
        let failures = run.report?.timers.flatMap(\.failures) ?? []
        let isOwn = !failures.isEmpty && failures.allSatisfy { (text: String) in !text.contains("did not fire") }
        #expect(isOwn, "\(failures)")
    }

    /// Less than a twentieth of a processor while nothing is to be done.
    private func expectIdle(_ run: Probe.Run) throws {
        let rest = try #require(run.report?.step("rest"), "\(run)")
        #expect(rest.load < 0.05, "\(run)")
    }
}
