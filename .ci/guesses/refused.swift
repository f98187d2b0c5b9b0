// swift-format-ignore-file
// What cannot compile, with the message that says what to write instead.
import PreciseTimer

final class Poller: Sendable {
    func step() {}
}

@MainActor final class ViewModel {
    var seconds = 0
}

func guesses(_ poller: Poller, _ model: ViewModel) throws {
    // error: write: try PreciseTimer.schedule(.every(period))
    _ = PreciseTimer(every: .seconds(1)) { print("tick") }
    // error: expects 2 arguments
    try PreciseTimer.schedule(.every(.seconds(1)), target: poller) { print("tick") }
    // error: expects 2 arguments
    try PreciseTimer.schedule(.every(.seconds(1)), deliver: .mainActor, target: model) { $0.seconds += 1 }
    // error: main actor-isolated property 'seconds'
    try PreciseTimer.schedule(.every(.seconds(1)), target: model) { model, _ in model.seconds += 1 }
    // error: has no member 'stepp'
    try PreciseTimer.schedule(.every(.seconds(1)), target: poller) { poller, _ in poller.stepp() }
}
