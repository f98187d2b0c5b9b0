import Dispatch
import Glibc
import PreciseTimer
import TestSupport
import Testing

/// Workers of Dispatch that a tick on its way makes. Fault 46.
@Suite(.waits("Dispatch makes threads with the settings of their maker")) struct OrdinaryThreadTests {
    /// What a worker inherits from the thread that makes it.
    private struct Inherited: Hashable, Sendable {
        let processors: [Int]
        let slack: Int?

        static var ofCallingThread: Inherited {
            Inherited(processors: ProcFS.processors, slack: ProcFS.timerSlack(of: ProcFS.callingThread))
        }
    }

    private actor Model {
        func note(_ seen: Notes<Inherited>) { seen.append(.ofCallingThread) }
    }

    private static let processor = ProcFS.processors.first ?? 0

    @Test(.enabled(if: ProcFS.processors.count > 1, "needs two processors"))
    func workersThatAPinnedServiceMakesHaveTheProcesssProcessorsAndSlack() async {
        await #expect(processExitsWith: .success) {
            Fault.endIfHung()
            let usual = Inherited.ofCallingThread
            let options = TimerService.ThreadOptions(affinity: [Self.processor])
            let service = try TimerService(.timerFD, thread: options)
            #expect(service.grant.refusals == [])
            let (seen, own, target, model) = (Notes<Inherited>(), Notes<Inherited>(), Log(), Model())
            // Each blocks a worker for a while, so that the next tick needs a new one.
            for number in 0..<6 {
                let queue = DispatchQueue(label: "test.\(number)")
                try PreciseTimer.schedule(
                    .once(after: .milliseconds(number)),
                    on: service,
                    deliver: .queue(queue),
                    target: target
                ) { _, _ in
                    seen.append(.ofCallingThread)
                    pause(.milliseconds(20))
                }
            }
            try PreciseTimer.schedule(.once(after: .milliseconds(7)), on: service, target: model) { model, _ in
                model.note(seen)
            }
            #expect(eventually { seen.all.count == 7 })
            #expect(Set(seen.all) == [usual])
            // After the hops, the service's thread is what was asked for.
            try PreciseTimer.schedule(.once(after: .zero), on: service, target: target) { _, _ in
                own.append(.ofCallingThread)
            }
            #expect(eventually { !own.all.isEmpty })
            #expect(own.all == [Inherited(processors: [Self.processor], slack: 1)])
        }
    }
}
