import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing
import TimerKernel

/// Every timer ends once, for one reason, and `onEnd` is called once: every form on virtual time.
@Suite(.waits("handlers run on threads of their own"), .timeLimit(.minutes(60))) struct OnEndTests {
    private static func atOnce(_ reason: PreciseTimer.EndReason) -> @Sendable (HandlerForm) -> [String] {
        { _ in ["released, \(reason) inline, over"] }
    }

    private static func inside(_ reason: PreciseTimer.EndReason) -> @Sendable (HandlerForm) -> [String] {
        { ["", "runs \($0.place), released, \(reason) \($0.place), over"] }
    }

    private static func beside(_ reason: PreciseTimer.EndReason) -> @Sendable (HandlerForm) -> [String] {
        { ["", "runs \($0.place)\($0.isInTask ? ", is stopped" : ""), released, \(reason) \($0.place), over"] }
    }

    /// What is heard if a tick finds that the target was released.
    private static func withoutTarget(_ form: HandlerForm) -> String {
        "released, target released \(form.isOfActor ? "pool" : form.place), over"
    }

    /// The captures of the handler and of `onError` are released before `onEnd` is called, and those of `onEnd` after
    /// it.
    private static let lives = [
        Life(deed: .cancel, events: atOnce(.cancelled)), Life(deed: .cancelAndWait, events: atOnce(.cancelled)),
        Life(deed: .shutDown, events: atOnce(.serviceShutDown)),
        Life(deed: .fail, events: atOnce(.backendFailed(RefusingAlarm.refusal))),
        Life(deed: .letGo) { form in
            form.isOfHandle ? ["released, handle released inline, over"] : ["target gone", withoutTarget(form)]
        },
        Life(deed: .letGoAndSweep) { form in
            form.isOfHandle
                ? ["released, handle released inline, over"] : ["target gone, released, target released inline, over"]
        },
        Life(deed: .cancel, moment: .inTheHandler, events: inside(.cancelled)),
        Life(deed: .cancelAndWait, moment: .inTheHandler, onError: .takes, events: inside(.cancelled)),
        Life(deed: .shutDown, moment: .inTheHandler, events: inside(.serviceShutDown)),
        Life(deed: .letGo, moment: .inTheHandler) { form in
            form.isOfHandle
                ? inside(.handleReleased)(form) : ["", "runs \(form.place), target gone", withoutTarget(form)]
        },
        Life(deed: .cancel, moment: .besideTheHandler, events: beside(.cancelled)),
        Life(deed: .shutDown, moment: .besideTheHandler, events: beside(.serviceShutDown)),
        Life(isOnce: true, events: inside(.completed)),
        Life(deed: .cancel, endsOnMain: true) { _ in ["released, cancelled main, over"] },
        Life(isOnce: true, endsOnMain: true) { ["", "runs \($0.place), released, completed main, over"] },
    ]

    @Test(arguments: HandlerForm.allCases, lives)
    func everyFormEndsOnceAndReleasesItsCapturesAround(form: HandlerForm, life: Life) async throws {
        try await life.expectEvents(of: form)
    }
}

/// Promise 9, on every backend and on virtual time: one ending, for one reason, reported once.
@Suite(.waits("every backend ends a timer by itself"), .timeLimit(.minutes(60))) struct EveryEndingTests {
    /// The ways to end a timer from inside its handler.
    private static let waysInside:
        [(reason: PreciseTimer.EndReason, end: @Sendable (PreciseTimer, TimerService) -> Bool)] = [
            (.cancelled, { timer, _ in timer.cancel() }), (.cancelled, { timer, _ in timer.cancelAndWait() }),
            (.serviceShutDown, { _, service in service.shutdown() }),
            (.completed, { timer, _ in timer.state == .scheduled }),
        ]

    @Test(arguments: Ground.all, waysInside.indices)
    func anEndInsideTheHandlerIsReportedAfterItsReturn(ground: Ground, way: Int) throws {
        let (site, words) = (try ground.site(), Notes<String>())
        let (service, inside) = (site.service, Self.waysInside[way])
        let timer = try PreciseTimer.schedule(
            .every(.milliseconds(1), after: .milliseconds(5), count: inside.reason == .completed ? 1 : nil),
            on: service,
            onEnd: { words.append("\($0)") },
            handler: { timer, _ in
                let isEnding = inside.end(timer, service)
                let again = inside.reason == .completed ? false : timer.cancelAndWait()
                words.append("\(isEnding), again: \(again)")
            }
        )
        #expect(site.until { words.all.count >= 2 })
        #expect(timer.state == .ended(inside.reason) && !timer.cancel())
        site.service.shutdown()
        #expect(words.all == ["true, again: false", "\(inside.reason)"])
    }
}

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
}

/// A handler that throws is called in place on a service's own thread, too.
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
