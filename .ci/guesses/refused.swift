// swift-format-ignore-file
// What cannot compile, with the message that says what to write instead.
import PreciseTimer

final class Poller: Sendable {
    func step() {}
}

@globalActor actor Database {
    static let shared = Database()
}

@Database final class Store {
    func step() {}
}

@MainActor final class ViewModel {
    var seconds = 0
    func step(_ tick: PreciseTimer.Tick) {}
}

func guesses(_ poller: Poller, _ model: ViewModel, _ store: Store) throws {
    // error: write: try PreciseTimer.schedule(.every(period))
    _ = PreciseTimer(every: .seconds(1)) { print("tick") }
    // error: expects 2 arguments
    try PreciseTimer.schedule(.every(.seconds(1)), target: poller) { print("tick") }
    // error: expects 2 arguments
    try PreciseTimer.schedule(.every(.seconds(1)), deliver: .mainActor, target: model) { $0.seconds += 1 }
    // error: main actor-isolated property 'seconds'
    try PreciseTimer.schedule(.every(.seconds(1)), target: model) { model, _ in model.seconds += 1 }
    // error: main actor-isolated instance method 'step'
    try PreciseTimer.schedule(.every(.seconds(1)), target: model) { $0.step($1) }
    // error: global actor 'Database'-isolated instance method 'step()'
    try PreciseTimer.schedule(.every(.seconds(1)), target: store) { store, _ in store.step() }
    // error: no exact matches in call to static method 'schedule'
    try PreciseTimer.schedule(.every(.seconds(1)), calling: ViewModel.step, target: model)
    // error: has no member 'stepp'
    try PreciseTimer.schedule(.every(.seconds(1)), target: poller) { poller, _ in poller.stepp() }
}
