import Dispatch
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

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

    @Test func aRefusedScheduleNeverCallsOnEnd() throws {
        let (refusing, ends) = (try TimerService(alarm: RefusingAlarm(settings: 0, starts: true)), Count())
        let onEnd: @Sendable (PreciseTimer.EndReason) -> Void = { _ in ends.add(1) }
        for (service, period) in [(refusing, Duration.seconds(1)), (VirtualTime().service, .zero)] {
            #expect(throws: TimerError.self) {
                try PreciseTimer.schedule(.every(period), on: service, target: ends, onEnd: onEnd) { _, _ in }
            }
        }
        #expect(ends.value == 0)
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

/// Ended timers leave nothing behind, even with a tick on its way.
@Suite(.waits("a queue is released by another thread"), .timeLimit(.minutes(60))) struct LeftoverTests {
    // The record of a timer holds its queue.
    @Test func timersCancelledOnTheWayToAQueueAreForgottenWithTheirHandle() async throws {
        weak var queue: DispatchQueue?
        let virtual = VirtualTime()
        do {
            let (serial, gate) = (DispatchQueue(label: "test.leftover"), Gate())
            queue = serial
            serial.async { gate.pass() }
            let timer = try PreciseTimer.schedule(
                .once(after: .seconds(1)),
                on: virtual.service,
                deliver: .queue(serial),
                target: gate
            ) { _, _ in }
            virtual.advanceWithoutSettling(by: .seconds(1))
            timer.cancel()
            gate.open()
        }
        #expect(await soon { queue == nil })
    }
}
