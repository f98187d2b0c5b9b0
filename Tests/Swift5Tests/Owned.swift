import PreciseTimer
import TestSupport

/// An object whose state belongs to an actor.
protocol Owned: AnyObject, Sendable {
    init()
    /// The number of calls of handlers.
    var calls: Int { get async }
    /// Keeps the actor busy while deadlines pass. Returns the number of calls in that time.
    func stayBusy() async -> Int
}

let always = PreciseTimer.Schedule.every(.milliseconds(1))
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
