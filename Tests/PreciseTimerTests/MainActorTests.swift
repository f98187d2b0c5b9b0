import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Handlers isolated to a global actor, such as the main actor.
@Suite(.waits("the main thread runs the handlers"), .timeLimit(.minutes(60))) struct MainActorTests {
    private let virtual = VirtualTime()
    private let second = PreciseTimer.Schedule.every(.seconds(1))

    /// The forms that schedule a handler for an actor, and some that are for none.
    enum Form: CaseIterable {
        case isolated, isolatedAwaiting, isolatedHandle, inAMethod
        case otherActor, valueWithoutActor, askingForNothing

        var isOnMainActor: Bool { ![.otherActor, .valueWithoutActor, .askingForNothing].contains(self) }
    }

    @MainActor private final class Model {
        private let place = Place(.mainActor)
        /// Whether each call was on the main actor.
        nonisolated let calls = Notes<Bool>()

        nonisolated init() {}

        func refresh() { note() }
        func refreshLater() async { note() }
        nonisolated func note() { calls.append(place.isHere) }

        /// Schedules a timer from inside the view model.
        func start(_ schedule: PreciseTimer.Schedule, on service: TimerService) throws(TimerError) -> PreciseTimer {
            try PreciseTimer.schedule(schedule, on: service, paused: true, target: self) { @MainActor model, _ in
                model.refresh()
            }
        }
    }

    /// Schedules a paused timer in a form.
    private func schedule(_ form: Form, _ model: Model) async throws -> PreciseTimer {
        let service = virtual.service
        switch form {
        case .isolated:
            return try PreciseTimer.schedule(second, on: service, paused: true, target: model) { @MainActor model, _ in
                model.refresh()
            }
        case .isolatedAwaiting:
            return try PreciseTimer.schedule(second, on: service, paused: true, target: model) { @MainActor model, _ in
                await model.refreshLater()
            }
        case .isolatedHandle:
            return try PreciseTimer.schedule(second, on: service, paused: true) { @MainActor timer, _ in
                if timer.state == .scheduled { model.refresh() }
            }
        case .inAMethod: return try await model.start(second, on: service)
        case .otherActor:
            return try PreciseTimer.schedule(second, on: service, paused: true, target: model) { @Other model, _ in
                Other.shared.preconditionIsolated()
                model.note()
            }
        case .valueWithoutActor:
            let handler: @isolated(any) @Sendable (Model, PreciseTimer.Tick) -> Void = { model, _ in model.note() }
            return try PreciseTimer.schedule(second, on: service, paused: true, target: model, handler: handler)
        case .askingForNothing: return try PreciseTimer.schedule(second, on: service, paused: true) { model.note() }
        }
    }

    @Test(arguments: Form.allCases) func eachFormRunsOnItsActor(form: Form) async throws {
        let (model, place) = (Model(), Place(.mainActor))
        let timer = try await schedule(form, model)
        virtual.advanceWithoutSettling(by: .seconds(3))
        await place.settle()
        #expect(model.calls.all.isEmpty && timer.state == .paused)
        timer.resume()
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { !model.calls.all.isEmpty })
        #expect(model.calls.all == [form.isOnMainActor])
        timer.cancel()
    }

    @Test(arguments: [true, false]) @MainActor
    func onEndGetsTheViewModelUnlessThatWasReleased(isReleased: Bool) async throws {
        var model: Model? = Model()
        weak let gone = model
        let (ends, reasons) = (Notes<Bool>(), Notes<PreciseTimer.EndReason>())
        let timer = try PreciseTimer.schedule(
            second,
            on: virtual.service,
            target: try #require(model),
            onEnd: { @MainActor [weak model] reason in
                ends.append(model != nil)
                reasons.append(reason)
            },
            handler: { @MainActor model, _ in model.refresh() }
        )
        if isReleased { model = nil }
        #expect((gone == nil) == isReleased)
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { isReleased || model?.calls.all == [true] })
        timer.cancel()
        #expect(await soon { !ends.all.isEmpty })
        let reason: PreciseTimer.EndReason = isReleased ? .targetReleased : .cancelled
        #expect(ends.all == [!isReleased] && reasons.all == [reason])
    }
}

@globalActor private actor Other {
    static let shared = Other()
}
