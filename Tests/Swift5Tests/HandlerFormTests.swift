import PreciseTimer
import PreciseTimerPatterns
import TestSupport
import Testing

/// The Swift 5 language mode forgives what Swift 6 refuses: each form must still run its handler on its actor.
@Suite(.waits("handlers run on their actors"), .timeLimit(.minutes(60))) struct HandlerFormTests {
    @Test(arguments: Form.all) func aHandlerRunsOnItsActor(_ form: Form) async throws {
        let places = Notes<String>()
        let held = try form.start(places)
        #expect(await soon { !places.all.isEmpty })
        #expect(Set(places.all) == [form.place])
        withExtendedLifetime(held) {}
    }
}

/// A way to write a handler, and the place in which it must run.
struct Form: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let place: String
    let start: @Sendable (Notes<String>) throws -> [AnyObject]

    init<Object: Sendable & AnyObject>(
        _ name: String,
        _ place: String,
        _ make: @autoclosure @escaping @Sendable () -> Object,
        _ start: @escaping @Sendable (Object, Notes<String>) throws -> AnyObject
    ) {
        (testDescription, self.place) = (name, place)
        self.start = { places in
            let object = make()
            return [object, try start(object, places)]
        }
    }

    static let all = timers + targetless + ends + patterns

    private static let timers = [
        Form("@MainActor", "main", Model()) { model, places in
            try PreciseTimer.schedule(always, target: model) { @MainActor model, _ in model.note(places) }
        },
        Form("@MainActor, throws, onError", "main", Model()) { model, places in
            try PreciseTimer.schedule(always, target: model, onError: ignore) { @MainActor model, _ in
                try model.noteOrThrow(places)
            }
        },
        Form("@MainActor, awaits", "main", Model()) { model, places in
            try PreciseTimer.schedule(always, target: model) { @MainActor model, _ in
                await Task.yield()
                try model.noteOrThrow(places)
            }
        },
        Form("actor", "meter", Meter()) { meter, places in
            try PreciseTimer.schedule(always, target: meter) { meter, _ in meter.note(places) }
        },
        Form("actor, awaits", "meter", Meter()) { meter, places in
            try PreciseTimer.schedule(always, target: meter) { meter, _ in
                await Task.yield()
                try meter.noteOrThrow(places)
            }
        },
        Form("awaits in the pool", "pool", Model()) { model, places in
            try PreciseTimer.schedule(always, target: model) { _, _ async in places.append(Here.name) }
        },
    ]

    private static let targetless = [
        Form("@MainActor, no target", "main", Model()) { model, places in
            try PreciseTimer.schedule(always) { @MainActor _, _ in model.note(places) }
        },
        Form("@MainActor, no target, throws, asks for nothing", "main", Model()) { model, places in
            try PreciseTimer.schedule(always) { @MainActor in try model.noteOrThrow(places) }
        },
        Form("@MainActor, no target, awaits", "main", Model()) { model, places in
            try PreciseTimer.schedule(always) { @MainActor _, _ async throws in try model.noteOrThrow(places) }
        },
    ]

    private static let ends = [
        Form("onEnd: @MainActor", "main", Model()) { model, places in
            let end = { @MainActor @Sendable (_: PreciseTimer.EndReason) in model.note(places) }
            return try PreciseTimer.schedule(once, target: model, onEnd: end) { _, _ in }
        },
        Form("onError: @MainActor", "main", Model()) { model, places in
            let note = { @MainActor @Sendable (model: Model, _: any Error) in model.note(places) }
            return try PreciseTimer.schedule(once, target: model, onError: note) { _, _ in throw CancellationError() }
        },
        Form("onEnd and onError: @MainActor, like the handler", "main", Model()) { model, places in
            try PreciseTimer.schedule(
                once,
                target: model,
                onEnd: { @MainActor _ in model.note(places) },
                onError: { @MainActor model, _ in model.note(places) },
                handler: { @MainActor _, _ in throw CancellationError() }
            )
        },
        Form("onError of an actor", "meter", Meter()) { meter, places in
            try PreciseTimer.schedule(
                once,
                target: meter,
                onError: { meter, _ in meter.note(places) },
                handler: { _, _ in throw CancellationError() }
            )
        },
    ]

    private static let patterns = [
        Form("debounce, @MainActor", "main", Model()) { model, places in
            called(try Debouncer(.zero, target: model) { @MainActor model in model.note(places) })
        },
        Form("debounce, @Database, awaits", "database", Store()) { store, places in
            called(try Debouncer(.zero, target: store) { @Database store async in store.note(places) })
        },
        Form("throttle, actor", "meter", Meter()) { meter, places in
            called(try Throttler(.zero, target: meter) { meter async in meter.note(places) })
        },
        Form("idle time-outs, @MainActor", "main", Model()) { model, places in
            set(IdleTimeouts(target: model) { @MainActor model, _ in model.note(places) })
        },
        Form("idle time-outs, actor, awaits", "meter", Meter()) { meter, places in
            set(IdleTimeouts(target: meter) { meter, _ async in meter.note(places) })
        },
    ]

    private static func called(_ limiter: CallLimiter) -> CallLimiter {
        limiter()
        return limiter
    }

    private static func set(_ timeouts: IdleTimeouts<Int>) -> IdleTimeouts<Int> {
        timeouts.refresh(1, after: .zero)
        return timeouts
    }
}

private let always = PreciseTimer.Schedule.every(.milliseconds(5))
private let once = PreciseTimer.Schedule.once(after: .zero)

@Sendable private func ignore(_: AnyObject, _: any Error) {}

@MainActor final class Model {
    nonisolated init() {}
    func note(_ places: Notes<String>) { places.append(Here.name) }
    func noteOrThrow(_ places: Notes<String>) throws { note(places) }
}

@Database final class Store {
    nonisolated init() {}
    func note(_ places: Notes<String>) { places.append(Here.name) }
}

extension Meter {
    fileprivate func note(_ places: Notes<String>) { places.append(Here.name) }
    fileprivate func noteOrThrow(_ places: Notes<String>) throws { note(places) }
}
