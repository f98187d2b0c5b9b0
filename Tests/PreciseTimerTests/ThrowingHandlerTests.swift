import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing
import TimerKernel

/// Errors of handlers of every form.
@Suite(.waits("handlers run on threads of their own"), .timeLimit(.minutes(60))) struct ThrowingHandlerTests {
    /// What is heard if the timer goes on after its first tick, up to the `cancel()` at last.
    private static func goesOn(
        _ fault: Life.Fault,
        _ onError: Life.OnError,
        _ told: @escaping @Sendable (HandlerForm) -> String
    ) -> Life {
        Life(fault: fault, onError: onError) { form in
            ["", "runs \(form.place), \(told(form))", "runs \(form.place)", "released, cancelled inline, over"]
        }
    }

    /// What is heard if the timer ends with its first tick.
    private static func ends(
        _ fault: Life.Fault,
        _ onError: Life.OnError = .isMissing,
        _ deed: Life.Deed = .nothing,
        _ moment: Life.Moment = .beforeTheTick,
        _ events: @escaping @Sendable (HandlerForm) -> String
    ) -> Life {
        Life(deed: deed, moment: moment, fault: fault, onError: onError) { form in
            let isStopped = moment == .besideTheHandler && form.isInTask
            return ["", "runs \(form.place)\(isStopped ? ", is stopped" : ""), \(events(form)), over"]
        }
    }

    private static let lives = [
        ends(.bad) { "released, failed: Bad() \($0.place)" },
        goesOn(.bad, .takes) { "told Bad() \($0.placeOfError)" },
        ends(.bad, .fails) { "told Bad() \($0.placeOfError), released, failed: Worse() \($0.place)" },
        ends(.bad, .cancelsAndWaits) { "told Bad() \($0.placeOfError), released, cancelled \($0.place)" },
        // Nobody has cancelled the handler's task.
        ends(.cancellation) { "released, failed: CancellationError() \($0.place)" },
        goesOn(.cancellation, .takes) { "told CancellationError() \($0.placeOfError)" },
        ends(.cancellation, .takes, .cancel, .inTheHandler) {
            "told CancellationError() \($0.placeOfError), released, cancelled \($0.place)"
        },
        // The end of the timer has cancelled it.
        ends(.cancellation, .takes, .cancel, .besideTheHandler) {
            ($0.isInTask ? "" : "told CancellationError() \($0.placeOfError), ") + "released, cancelled \($0.place)"
        },
        ends(.bad, .fails, .shutDown, .besideTheHandler) {
            "told Bad() \($0.placeOfError), released, service shut down \($0.place)"
        },
        ends(.bad, .isMissing, .cancel, .besideTheHandler) { "released, cancelled \($0.place)" },
    ]

    @Test(arguments: HandlerForm.allCases, lives)
    func anErrorOfAnyFormGoesToOnErrorOrEndsTheTimer(form: HandlerForm, life: Life) async throws {
        try await life.expectEvents(of: form)
    }

    /// A timer whose handler is called in place does not wait for it.
    private static let livesWithMainActor = [
        goesOn(.bad, .takesOnMain) { _ in "told Bad() main" },
        ends(.bad, .failsOnMain) { form in
            "told Bad() main, failed: Worse() \(form.isInTask ? form.place : "pool")"
        },
    ]

    @Test(arguments: HandlerForm.allCases.filter { !$0.isOfActor }, livesWithMainActor)
    func onErrorOfTheMainActorIsToldThere(form: HandlerForm, life: Life) async throws {
        try await life.expectEvents(of: form)
    }

    /// Promise 5: the end of a timer comes before anything is decided about the next one of the round, which goes on.
    @Test func onEndMayEndADueSibling() throws {
        let (virtual, events, timers) = (VirtualTime(), Notes<String>(), TimerBag())
        for number in 1...3 {
            try PreciseTimer.schedule(
                .every(.seconds(1)),
                on: virtual.service,
                target: events,
                onEnd: { reason in
                    events.append("\(number) \(reason)")
                    if number == 1 { timers.cancel("2") }
                },
                handler: { events, _ in
                    events.append("\(number) ticks")
                    throw CancellationError()
                }
            )
            .store(in: timers, named: "\(number)")
        }
        virtual.advance(by: .seconds(1))
        let failed = "failed: CancellationError()"
        #expect(events.all == ["1 ticks", "1 \(failed)", "2 cancelled", "3 ticks", "3 \(failed)"])
    }
}

/// The same on a service's own thread.
@Suite(.waits("a real alarm's thread calls the handler"), .timeLimit(.minutes(60))) struct ThrowingOnThreadTests {
    @Test(arguments: TimerService.Backend.available)
    func aHandlerThatThrowsRunsOnTheServicesThread(backend: TimerService.Backend) throws {
        let (service, threads, tasks) = (try TimerService(backend), Notes<UInt>(), Count())
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: threads) { threads, _ in
            threads.append(ThreadID.current.number)
        }
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: threads) { threads, _ in
            tasks.add(unsafe withUnsafeCurrentTask { unsafe $0 == nil ? 0 : 1 })
            threads.append(ThreadID.current.number)
            throw CancellationError()
        }
        #expect(eventually { threads.all.count == 2 })
        // A queue may change its thread.
        #expect(Set(threads.all).count == 1 || backend == .dispatch)
        #expect(tasks.value == 0)
    }
}
