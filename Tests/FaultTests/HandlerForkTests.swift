import Glibc
import PreciseTimer
import TestSupport
import Testing

/// Handlers that fork. The child is a copy of the delivering thread alone, with the parent's descriptors.
@Suite(.waits("a fork copies one thread and all descriptors"), .timeLimit(.minutes(60))) struct HandlerForkTests {
    typealias Backend = TimerService.Backend

    // Swift Testing hands values to an exit test since Swift 6.3.
    #if compiler(>=6.3)
    /// The child returns from the handler, into a copy of the library's own loop. Fault 45.
    @Test(arguments: Backend.available)
    func aChildThatReturnsFromTheHandlerLeavesTheParentAlone(backend: Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            Fault.endIfHung()
            let (log, child) = (Log(), Box<pid_t>())
            try PreciseTimer.schedule(.every(.milliseconds(1)), on: backend.shared, target: log) { log, tick in
                log.note(tick)
                if log.count == 5 { child.value = Fork.fork() }
            }
            #expect(eventually { child.value != nil })
            // libdispatch's own loop goes on in the child, which disturbs no one.
            let code = backend == .dispatch ? 0 : Fork.exitCode(of: child.value ?? 0)
            #expect(code == 0, "\(code); -9: the child does not end")
            let before = log.count
            #expect(eventually { log.count >= before + 100 })
            if backend == .dispatch { kill(child.value ?? 0, SIGKILL) }
            let ticks = log.ticks
            let accounted = Array(ticks.dropLast()).accounted
            #expect(ticks.last?.index == accounted, "no tick was stolen")
        }
    }
    #endif

    /// `onEnd` is called on the reaper if the target was released.
    @Test func aChildThatReturnsFromOnEndLeavesTheParentAlone() async {
        await #expect(processExitsWith: .success) {
            Fault.endIfHung()
            let (log, child, ends) = (Log(), Box<pid_t>(), Count())
            for number in 0..<2 {
                var target: Log? = Log()
                if let target {
                    try PreciseTimer.schedule(
                        .once(after: .seconds(3_600)),
                        target: target,
                        onEnd: { _ in
                            ends.add(1)
                            if number == 0 { child.value = Fork.fork() }
                        },
                        handler: { $0.note($1) }
                    )
                }
                target = nil
                #expect(eventually { ends.value == number + 1 })
            }
            let code = Fork.exitCode(of: child.value ?? 0)
            #expect(code == 0, "\(code); -9: the child does not end")
            #expect(log.count == 0)
        }
    }

    #if Libevent
    /// The host's loop returns in the child, so that the host can make the base its own there.
    @Test func aHandlerOnAHostsEventBaseEndsTheLoopOfItsChild() async {
        await #expect(processExitsWith: .success) {
            Fault.endIfHung()
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
            #expect(code == 0, "\(code); -9: the child does not end")
            #expect(log.count == 200)
        }
    }
    #endif

    /// The child has the number of its parent, which is the first process of a namespace, too. Fault 54.
    @Test(.enabled(if: Tools.hasPIDNamespaces, Tools.noPIDNamespaces))
    func aChildWithItsParentsNumberGetsTheErrorsOfAChild() async throws {
        let unshare = Probe.Means(command: ["unshare", "--pid", "--fork"])
        let run = try await Probe.run(.timerFD, ["schedule=1x1000", "ticks=5", "fork-into-namespace"], under: unshare)
        #expect(run.outcome.code == 0, "\(run)")
        #expect(run.report?.steps.last?.isMet == true, "\(run)")
    }
}
