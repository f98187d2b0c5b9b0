// The types with which people write first: .ci/first-guesses.
import PreciseTimer

final class Poller: Sendable {
    func step() {}
    func note(_ tick: PreciseTimer.Tick) {}
    func poll() async throws {}
}

actor Meter {
    var missed = 0
    func report() async throws {}
    func flush() async {}
}

@globalActor actor Database {
    static let shared = Database()
}

@Database final class Store: Sendable {
    func step() {}
}

@MainActor final class Model {
    var seconds = 0
    func step(_ tick: PreciseTimer.Tick) {}
}
