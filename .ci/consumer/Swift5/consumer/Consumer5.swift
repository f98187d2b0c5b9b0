// A user in the Swift 5 language mode, which forgives what Swift 6 refuses: each form must still run its handler on its
// actor. So nothing may touch an actor's state while that actor is busy.
import PreciseTimer
import PreciseTimerPatterns

/// An object whose state belongs to an actor.
protocol Owned: AnyObject, Sendable {
    /// The number of calls of handlers.
    var calls: Int { get async }
    /// Keeps the actor busy while deadlines pass. Returns the number of calls in that time.
    func stayBusy() async -> Int
}

@globalActor actor Database { static let shared = Database() }

@MainActor final class Model: Owned {
    private(set) var calls = 0

    nonisolated init() {}

    func note() {
        MainActor.preconditionIsolated()
        calls += 1
    }

    func note(_ tick: PreciseTimer.Tick) { note() }

    func noteSlowly() async throws {
        note()
        await Task.yield()
        note()
    }

    func stayBusy() -> Int {
        let before = calls
        passTime()
        return calls - before
    }
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

    func stayBusy() -> Int {
        let before = calls
        passTime()
        return calls - before
    }
}

actor Meter: Owned {
    private(set) var calls = 0

    func note() {
        preconditionIsolated()
        calls += 1
    }

    func noteSlowly() async throws {
        note()
        await Task.yield()
        note()
    }

    func stayBusy() -> Int {
        let before = calls
        passTime()
        return calls - before
    }
}

struct Refusal: Error {}

@main
enum Consumer {
    static let always = PreciseTimer.Schedule.every(.milliseconds(1))

    static func main() async throws {
        try await inline()
        try await mainActor()
        try await annotations()
        try await actors()
        try await triggers()
        print("in the Swift 5 language mode each handler runs on its actor")
    }

    private static func inline() async throws {
        let model = Model()
        try await check("inline, no handler on an actor", model) { model in
            try PreciseTimer.schedule(always, target: model) { model, _ in Task { await model.note() } }
        }
    }

    private static func mainActor() async throws {
        try await check("deliver: .mainActor", Model()) { model in
            try PreciseTimer.schedule(always, deliver: .mainActor, target: model) { $0.note($1) }
        }
        try await check("deliver: .mainActor, awaits", Model()) { model in
            try PreciseTimer.schedule(always, deliver: .mainActor, target: model) { model, _ in
                try await model.noteSlowly()
            }
        }
        try await check("deliver: .mainActor, no target", Model()) { model in
            try PreciseTimer.schedule(always, deliver: .mainActor) { _, tick in model.note(tick) }
        }
        try await check("onEnd of deliver: .mainActor", Model()) { model in
            try PreciseTimer.schedule(
                .once(after: .zero),
                deliver: .mainActor,
                target: model,
                onEnd: { model, _ in model?.note() },
                handler: { _, _ in }
            )
        }
        try await check("onError of deliver: .mainActor", Model()) { model in
            try PreciseTimer.schedule(
                always,
                deliver: .mainActor,
                target: model,
                onError: { model, _ in model.note() },
                handler: { _, _ in throw Refusal() }
            )
        }
    }

    private static func annotations() async throws {
        try await check("@MainActor", Model()) { model in
            try PreciseTimer.schedule(always, target: model) { @MainActor model, tick in model.note(tick) }
        }
        try await check("@MainActor, awaits", Model()) { model in
            try PreciseTimer.schedule(always, target: model) { @MainActor model, _ in try await model.noteSlowly() }
        }
        try await check("@MainActor, no target", Model()) { model in
            try PreciseTimer.schedule(always) { @MainActor _, tick in model.note(tick) }
        }
        try await check("@MainActor, no target, asks for nothing", Model()) { model in
            try PreciseTimer.schedule(always) { @MainActor in model.note() }
        }
        try await check("@MainActor, no target, awaits", Model()) { model in
            try PreciseTimer.schedule(always) { @MainActor _, _ in try await model.noteSlowly() }
        }
        try await check("onError: @MainActor", Model()) { model in
            try PreciseTimer.schedule(
                always,
                target: model,
                onError: { @MainActor model, _ in model.note() },
                handler: { _, _ in throw Refusal() }
            )
        }
        try await check("@Database", Store()) { store in
            try PreciseTimer.schedule(always, target: store) { @Database store, _ in store.note() }
        }
        try await check("@Database, awaits", Store()) { store in
            try PreciseTimer.schedule(always, target: store) { @Database store, _ in try await store.noteSlowly() }
        }
        try await check("@Database, no target", Store()) { store in
            try PreciseTimer.schedule(always) { @Database _, _ in store.note() }
        }
    }

    private static func actors() async throws {
        try await check("actor", Meter()) { meter in
            try PreciseTimer.schedule(always, target: meter) { meter, _ in meter.note() }
        }
        try await check("actor, awaits", Meter()) { meter in
            try PreciseTimer.schedule(always, target: meter) { meter, _ in try await meter.noteSlowly() }
        }
        try await check("onError of an actor", Meter()) { meter in
            try PreciseTimer.schedule(
                always,
                target: meter,
                onError: { meter, _ in meter.note() },
                handler: { _, _ in throw Refusal() }
            )
        }
        try await check("awaits on the thread pool", Model()) { model in
            try PreciseTimer.schedule(always, target: model) { model, _ in try await model.noteSlowly() }
        }
        try await check("awaits on the thread pool, no target", Store()) { store in
            try PreciseTimer.schedule(always) { _, _ in try await store.noteSlowly() }
        }
    }

    private static func triggers() async throws {
        try await check("debounce", Model()) { model in
            called(try Debouncer(.zero, deliver: .mainActor, target: model) { $0.note() })
        }
        try await check("debounce, @MainActor", Model()) { model in
            called(try Debouncer(.zero, target: model) { @MainActor model in model.note() })
        }
        try await check("debounce, @Database, awaits", Store()) { store in
            called(try Debouncer(.zero, target: store) { @Database store in try? await store.noteSlowly() })
        }
        try await check("throttle", Model()) { model in
            called(try Throttler(.zero, deliver: .mainActor, target: model) { $0.note() })
        }
        try await check("throttle, actor", Meter()) { meter in
            called(try Throttler(.zero, target: meter) { meter in meter.note() })
        }
        try await check("idle time-outs", Model()) { model in
            set(IdleTimeouts(deliver: .mainActor, target: model) { model, _ in model.note() })
        }
        try await check("idle time-outs, @MainActor", Model()) { model in
            set(IdleTimeouts(target: model) { @MainActor model, _ in model.note() })
        }
        try await check("idle time-outs, @MainActor, no target", Model()) { model in
            set(IdleTimeouts { @MainActor _ in model.note() })
        }
        try await check("idle time-outs, actor, awaits", Meter()) { meter in
            set(IdleTimeouts(target: meter) { meter, _ in try? await meter.noteSlowly() })
        }
    }

    private static func called(_ limiter: CallLimiter) -> CallLimiter {
        limiter()
        return limiter
    }

    private static func set(_ timeouts: IdleTimeouts<Int>) -> IdleTimeouts<Int> {
        timeouts.refresh(1, after: .zero)
        return timeouts
    }

    /// Checks that what `start` starts calls its handler, but never while the actor of its state is busy.
    private static func check<Model: Owned>(
        _ form: String,
        _ model: Model,
        _ start: (Model) throws -> AnyObject
    ) async throws {
        let held = try start(model)
        let calls = await model.stayBusy()
        precondition(calls == 0, "\(form): \(calls) calls while the actor was busy")
        for _ in 0..<60_000 {
            if await model.calls > 0 { break }
            try await Task.sleep(for: .milliseconds(1))
        }
        guard await model.calls > 0 else { preconditionFailure("\(form): no call") }
        withExtendedLifetime(held) {}
    }
}

/// Returns when deadlines have passed. Blocks the thread, and so its actor.
func passTime() {
    let end = ContinuousClock.now + .milliseconds(20)
    while ContinuousClock.now < end {}
}
