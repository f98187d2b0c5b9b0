import Glibc
import PreciseTimer
import PreciseTimerExecutor
import Synchronization
import TestSupport
import Testing

#if Libevent
import CLibevent
#endif

/// Forked children of both kinds: from `fork`, and from `_Fork`, which runs no fork handlers.
@Suite(.waits("a fork copies one thread and all locks"), .timeLimit(.minutes(60))) struct ForkTests {
    // Swift Testing hands values to an exit test since Swift 6.3.
    #if compiler(>=6.3)
    /// A restore from a checkpoint may lose the kernel's promise to clear a page in a child.
    @Test(arguments: Backend.available, Fork.kinds + ["fork without a cleared page"])
    func aForkedChildGetsErrorsAndTheParentIsUnharmed(backend: Backend, kind: String) async {
        await #expect(processExitsWith: .success) { [backend, kind] in
            endIfHung()
            let (parents, bag) = (try TickingTimer(on: backend.shared), TimerBag())
            try PreciseTimer.schedule(.once(after: .seconds(3_600)), target: parents.log) { $0.note($1) }
                .store(in: bag, named: "parent")
            #expect(parents.ticks(5))
            let name = kind == "_Fork" ? kind : "fork"
            #expect(kind == name || ProcFS.keepPagesOnFork() > 0)
            let code = Fork.outcome(by: name, of: { deviationInAChild(backend.shared, parents.timer, bag) })
            #expect(code == 0)
            #expect(parents.ticks(20) && parents.losesNothing && parents.timer.state == .scheduled && bag.count == 1)
        }
    }

    /// A host's loop in the forked child goes on with its copy of what it watches.
    enum Host: String, CaseIterable, Codable, Sendable {
        case poll
        #if Libevent
        case eventBase
        #endif
    }

    @Test(arguments: Host.allCases, Fork.kinds)
    func aForkedChildThatRunsItsHostsLoopDoesNotSpin(host: Host, kind: String) async {
        await #expect(processExitsWith: .success) { [host, kind] in
            endIfHung()
            let (service, loop, begin) = try hostLoop(host)
            let parents = try TickingTimer(on: service)
            for _ in 0..<200 where parents.log.count < 5 { loop(100) }
            #expect(parents.log.count >= 5)
            let before = parents.log.count
            let child = { () -> Int32 in
                begin()
                let cpu = Reading.cpuSeconds
                loop(1_000)
                return parents.log.count > before ? 2 : Reading.cpuSeconds - cpu < 0.25 ? 0 : 1
            }
            // The parent's timers tick at the same time.
            let code = Fork.outcome(by: kind, of: child, meanwhile: { loop(1_200) })
            #expect(code == 0, "\(code); 1: it spins; 2: it ticks; -14: it hangs")
            for _ in 0..<200 where parents.log.count <= before { loop(100) }
            #expect(parents.log.count > before && parents.losesNothing)
        }
    }
    #endif
}

#if compiler(>=6.3)
/// A service on a host's loop, a way to run it for milliseconds, and what a child must do first.
private func hostLoop(_ host: ForkTests.Host) throws -> (service: TimerService, run: (Int) -> Void, begin: () -> Void) {
    switch host {
    case .poll:
        let timers = try TimerService.pollable()
        let run = { (milliseconds: Int) in
            let end = Reading.seconds + Double(milliseconds) / 1_000
            while Reading.seconds < end {
                if Poll.isReadable(timers.descriptor, within: 100) { timers.process() }
            }
        }
        return (timers.service, run, {})
    #if Libevent
    case .eventBase:
        let host = HostEventBase()
        let run = { (milliseconds: Int) in
            var time = timeval(tv_sec: milliseconds / 1_000, tv_usec: milliseconds % 1_000 * 1_000)
            _ = unsafe event_base_loopexit(host.base, &time)
            host.dispatch()
        }
        // As libevent prescribes.
        return (try unsafe TimerService(attachedTo: host.base), run, { _ = unsafe event_reinit(host.base) })
    #endif
    }
}
#endif

/// 0 if a forked child gets the promised errors, and finds the parent's bag empty, or the number of the first
/// deviation. In the child, the bag's lock may be held for ever by a thread that exists only in the parent.
private func deviationInAChild(_ service: TimerService, _ timer: PreciseTimer, _ bag: TimerBag) -> Int32 {
    do {
        try TickingTimer(.once(after: .zero), on: service)
        return 1
    } catch { if error.code != .forked { return 2 } }
    if timer.cancel() { return 3 }
    guard case .ended(.backendFailed(let error)) = timer.state, error.code == .forked else { return 4 }
    service.shutdownForEveryone()
    if service.now.nanoseconds == 0 { return 5 }
    if bag.count != 0 || bag["parent"] != nil || bag.cancel("parent") { return 6 }
    bag.cancelAll()
    // The child's own service works, but the bag takes no timer.
    guard let own = try? TimerService(.timerFD) else { return 7 }
    var timer = try? PreciseTimer.schedule(.once(after: .seconds(3_600)), on: own) { _, _ in }
    weak let handle = timer
    timer?.store(in: bag)
    timer = nil
    return handle == nil ? 0 : 8
}

/// The child of a job that forks.
private let jobsChild = Atomic<pid_t>(Fork.none)

/// Handlers that fork. The child is a copy of the delivering thread alone, with the parent's descriptors.
@Suite(.waits("a fork copies one thread and all descriptors"), .timeLimit(.minutes(60))) struct HandlerForkTests {
    // Swift Testing hands values to an exit test since Swift 6.3.
    #if compiler(>=6.3)
    /// The child returns from the handler, into a copy of the library's own loop.
    @Test(arguments: Backend.available)
    func aChildThatReturnsFromTheHandlerLeavesTheParentAlone(backend: Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            endIfHung()
            // No lock: the child would wait for ever for one that a thread of the parent holds at the fork.
            let child = Atomic<pid_t>(Fork.none)
            let parents = try TickingTimer(on: backend.shared) { tick in
                guard tick.index >= 4, child.load(ordering: .relaxed) == Fork.none else { return }
                child.store(Fork.fork(), ordering: .relaxed)
            }
            #expect(eventually { child.load(ordering: .relaxed) != Fork.none })
            // libdispatch's own loop goes on in the child, which disturbs no one.
            let code = backend == .dispatch ? 0 : Fork.exitCode(of: child.load(ordering: .relaxed))
            #expect(code == 0, "\(code)")
            #expect(parents.ticks(100) && parents.losesNothing)
            if backend == .dispatch { kill(child.load(ordering: .relaxed), SIGKILL) }
        }
    }
    #endif

    /// The child leaves the executor's loop, and then the service's.
    @Test func aJobThatForksRunsNoJobInTheChild() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            let executor = TimerExecutor(on: try TimerService(.timerFD))
            let parent = getpid()
            let jobs = (0..<100)
                .map { number in
                    Task(executorPreference: executor) {
                        for round in 0..<10 {
                            if getpid() != parent { _exit(1) }
                            if number == 50, round == 5 { jobsChild.store(Fork.fork(), ordering: .relaxed) }
                            await Task.yield()
                        }
                    }
                }
            for job in jobs { await job.value }
            let code = Fork.exitCode(of: jobsChild.load(ordering: .relaxed))
            #expect(code == 0, "\(code)")
            let other = Fork.outcome {
                _ = Task(executorPreference: executor) { _exit(1) }
                return executor.strays == 0 && "\(executor)".contains("executor on") ? 0 : 2
            }
            #expect(other == 0, "\(other)")
            #expect(await Task(executorPreference: executor) { true }.value)
        }
    }

    /// `onEnd` is called on the reaper if the target was released.
    @Test func aChildThatReturnsFromOnEndLeavesTheParentAlone() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            let child = Atomic<pid_t>(Fork.none)
            let ends = Atomic(0)
            // The first end lets the runtime make what an end needs. A child, which has copies of the runtime's locks,
            // might wait for that without end.
            for number in 0..<3 {
                try scheduleFar { _ in
                    ends.add(1, ordering: .relaxed)
                    if number == 1 { child.store(Fork.fork(), ordering: .relaxed) }
                }
                #expect(eventually { ends.load(ordering: .relaxed) == number + 1 })
            }
            #expect(eventually { child.load(ordering: .relaxed) != Fork.none })
            let code = Fork.exitCode(of: child.load(ordering: .relaxed))
            #expect(code == 0, "\(code)")
        }
    }

    #if Libevent
    /// The host's loop returns in the child, so that the host can make the base its own there.
    @Test func aHandlerOnAHostsEventBaseEndsTheLoopOfItsChild() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            let (host, log, parent) = (HostEventBase(), Log(), getpid())
            let service = try unsafe TimerService(attachedTo: host.base)
            let child = Box<pid_t>()
            try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { log, tick in
                log.note(tick)
                if log.count == 5 { child.value = Fork.fork() }
                if log.count == 200 { service.shutdown() }
            }
            host.dispatch()
            // The child comes here at once, with the count of the fork.
            if getpid() != parent { _exit(log.count == 5 ? 0 : 1) }
            let code = Fork.exitCode(of: child.value ?? 0)
            #expect(code == 0, "\(code)")
            #expect(log.count == 200)
        }
    }
    #endif

    /// The child has the number of its parent, which is the first process of a namespace, too.
    @Test(.enabled(if: Tools.succeeds(["unshare", "--pid", "--fork", "true"]), "needs a namespace"))
    func aChildWithItsParentsNumberGetsTheErrorsOfAChild() async throws {
        let unshare = Probe.Means(command: ["unshare", "--pid", "--fork"])
        let run = try await Probe.run(.timerFD, ["schedule=1x1000", "ticks=5", "fork-into-namespace"], under: unshare)
        #expect(run.outcome.code == 0 && run.isMet("fork-into-namespace"), "\(run)")
    }
}
