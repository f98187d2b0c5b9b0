import PreciseTimer
import PreciseTimerPatterns
import TestSupport
import Testing

/// The Swift 5 language mode forgives what Swift 6 refuses: each form must still run its handler on its actor. So no
/// handler may touch an actor's state while that actor is busy.
@Suite(.waits("handlers run on their actors"), .timeLimit(.minutes(5))) struct HandlerFormTests {
    @Test(arguments: Form.all) func aHandlerRunsOnItsActor(_ form: Form) async throws {
        let (held, object) = try form.start()
        #expect(await object.stayBusy() == 0, "calls while the actor was busy")
        for _ in 0..<30_000 where await object.calls == 0 { try await Task.sleep(for: .milliseconds(1)) }
        #expect(await object.calls > 0)
        withExtendedLifetime(held) {}
    }
}

/// A way to write a handler, and the object whose actor it must run on.
struct Form: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let start: @Sendable () throws -> (held: AnyObject, object: any Owned)

    init<Object: Owned>(
        _ name: String,
        _ type: Object.Type,
        _ start: @escaping @Sendable (Object) throws -> AnyObject
    ) {
        testDescription = name
        self.start = {
            let object = Object()
            return (try start(object), object)
        }
    }

    static let all = timers + targetless + ends + patterns

    private static let timers = [
        Form("inline, no handler on an actor", Model.self) {
            try PreciseTimer.schedule(always, target: $0) { model, _ in Task { await model.note() } }
        },
        Form("@MainActor", Model.self) {
            try PreciseTimer.schedule(always, target: $0) { @MainActor model, tick in model.note(tick) }
        },
        Form("@MainActor, throws", Model.self) {
            try PreciseTimer.schedule(always, target: $0) { @MainActor model, tick in try model.noteOrThrow(tick) }
        },
        Form("@MainActor, throws, onError", Model.self) {
            try PreciseTimer.schedule(always, target: $0, onError: ignore) { @MainActor in try $0.noteOrThrow($1) }
        },
        Form("@MainActor, awaits", Model.self) {
            try PreciseTimer.schedule(always, target: $0) { @MainActor in try await $0.noteSlowly($1) }
        },
        Form("@Database", Store.self) {
            try PreciseTimer.schedule(always, target: $0) { @Database store, _ in store.note() }
        },
        Form("@Database, awaits", Store.self) {
            try PreciseTimer.schedule(always, target: $0) { @Database store, _ in try await store.noteSlowly() }
        },
        Form("actor", Meter.self) {
            try PreciseTimer.schedule(always, target: $0) { meter, _ in meter.note() }
        },
        Form("actor, throws", Meter.self) {
            try PreciseTimer.schedule(always, target: $0) { meter, _ in try meter.noteOrThrow() }
        },
        Form("actor, awaits", Meter.self) {
            try PreciseTimer.schedule(always, target: $0) { meter, _ in try await meter.noteSlowly() }
        },
        Form("awaits on the thread pool", Model.self) {
            try PreciseTimer.schedule(always, target: $0) { try await $0.noteSlowly($1) }
        },
    ]

    private static let targetless = [
        Form("@MainActor, no target", Model.self) { model in
            try PreciseTimer.schedule(always) { @MainActor _, tick in model.note(tick) }
        },
        Form("@MainActor, no target, asks for nothing", Model.self) { model in
            try PreciseTimer.schedule(always) { @MainActor in model.note() }
        },
        Form("@MainActor, no target, throws", Model.self) { model in
            try PreciseTimer.schedule(always) { @MainActor _, tick in try model.noteOrThrow(tick) }
        },
        Form("@MainActor, no target, throws, asks for nothing", Model.self) { model in
            try PreciseTimer.schedule(always) { @MainActor in try model.noteOrThrow() }
        },
        Form("@MainActor, no target, awaits", Model.self) { model in
            try PreciseTimer.schedule(always) { @MainActor _, tick in try await model.noteSlowly(tick) }
        },
        Form("@Database, no target", Store.self) { store in
            try PreciseTimer.schedule(always) { @Database _, _ in store.note() }
        },
        Form("awaits on the thread pool, no target", Store.self) { store in
            try PreciseTimer.schedule(always) { _, _ in try await store.noteSlowly() }
        },
    ]

    private static let ends = [
        Form("onEnd: @MainActor", Model.self) { model in
            let end = { @MainActor @Sendable (_: PreciseTimer.EndReason) in model.note() }
            return try PreciseTimer.schedule(once, target: model, onEnd: end) { _, _ in }
        },
        Form("onEnd: @MainActor of a handler of the main actor", Model.self) { model in
            try PreciseTimer.schedule(
                once,
                target: model,
                onEnd: { @MainActor _ in model.note() },
                handler: { @MainActor _, _ in }
            )
        },
        Form("onError: @MainActor", Model.self) { model in
            let note = { @MainActor @Sendable (model: Model, _: any Error) in model.note() }
            return try PreciseTimer.schedule(once, target: model, onError: note, handler: refuse)
        },
        Form("onError: @MainActor of a handler of the main actor", Model.self) { model in
            try PreciseTimer.schedule(
                once,
                target: model,
                onError: { @MainActor model, _ in model.note() },
                handler: { @MainActor _, _ in throw CancellationError() }
            )
        },
        Form("onError of an actor", Meter.self) { meter in
            try PreciseTimer.schedule(
                once,
                target: meter,
                onError: { meter, _ in meter.note() },
                handler: { meter, _ in
                    meter.assertIsolated()
                    throw CancellationError()
                }
            )
        },
    ]

    private static let patterns = [
        Form("debounce, @MainActor", Model.self) {
            called(try Debouncer(.zero, target: $0) { @MainActor model in model.note() })
        },
        Form("debounce, @Database, awaits", Store.self) {
            called(try Debouncer(.zero, target: $0) { @Database store in try? await store.noteSlowly() })
        },
        Form("throttle", Model.self) {
            called(try Throttler(.zero, target: $0) { @MainActor in $0.note() })
        },
        Form("throttle, actor", Meter.self) {
            called(try Throttler(.zero, target: $0) { meter async in meter.note() })
        },
        Form("idle time-outs, @MainActor", Model.self) {
            set(IdleTimeouts(target: $0) { @MainActor model, _ in model.note() })
        },
        Form("idle time-outs, actor, awaits", Meter.self) {
            set(IdleTimeouts(target: $0) { meter, _ in try? await meter.noteSlowly() })
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

/// An object whose state belongs to an actor.
protocol Owned: AnyObject, Sendable {
    init()
    /// The number of calls of handlers.
    var calls: Int { get async }
    /// Keeps the actor busy while deadlines pass. Returns the number of calls in that time.
    func stayBusy() async -> Int
}

let always = PreciseTimer.Schedule.every(.milliseconds(5))
let once = PreciseTimer.Schedule.once(after: .zero)

@Sendable func refuse(_: AnyObject, _: PreciseTimer.Tick) throws { throw CancellationError() }

@Sendable func ignore(_: AnyObject, _: any Error) {}

@globalActor actor Database { static let shared = Database() }

@MainActor final class Model: Owned {
    private(set) var calls = 0

    nonisolated init() {}

    func note(_ tick: PreciseTimer.Tick? = nil) {
        MainActor.preconditionIsolated()
        calls += 1
    }

    func noteOrThrow(_ tick: PreciseTimer.Tick? = nil) throws { note() }

    func noteSlowly(_ tick: PreciseTimer.Tick? = nil) async throws {
        note()
        await Task.yield()
        note()
    }

    func stayBusy() -> Int { callsWhileBusy { calls } }
}

@Database final class Store: Owned {
    private(set) var calls = 0

    nonisolated init() {}

    func note() {
        Database.preconditionIsolated()
        calls += 1
    }

    func noteSlowly() async throws {
        note()
        await Task.yield()
        note()
    }

    func stayBusy() -> Int { callsWhileBusy { calls } }
}

actor Meter: Owned {
    private(set) var calls = 0

    init() {}

    func note() {
        preconditionIsolated()
        calls += 1
    }

    func noteOrThrow() throws { note() }

    func noteSlowly() async throws {
        note()
        await Task.yield()
        note()
    }

    func stayBusy() -> Int { callsWhileBusy { calls } }
}

/// Blocks the thread, and so its actor, until deadlines have passed.
private func callsWhileBusy(_ calls: () -> Int) -> Int {
    let before = calls()
    pause(.milliseconds(20))
    return calls() - before
}
