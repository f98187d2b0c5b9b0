// swift-format-ignore-file
// What is refused, each below the words that say what to write.
import PreciseTimer

func guesses(_ timer: PreciseTimer, _ poller: Poller, _ model: Model, _ store: Store) async throws {
    // error: expects 2 arguments
    try PreciseTimer.schedule(.every(.seconds(1)), target: poller) { print("tick") }
    // error: leave `deliver:` out, and write `{ @MainActor target, tick in … }`
    try PreciseTimer.schedule(.every(.seconds(1)), deliver: .mainActor, target: model) { model, a in model.step(a) }
    // error: main actor-isolated property 'seconds'
    try PreciseTimer.schedule(.every(.seconds(1)), target: model) { model, _ in model.seconds += 1 }
    // error: main actor-isolated instance method 'step'
    try PreciseTimer.schedule(.every(.seconds(1)), target: model) { $0.step($1) }
    // error: global actor 'Database'-isolated instance method 'step()'
    try PreciseTimer.schedule(.every(.seconds(1)), target: store) { store, _ in store.step() }
    // error: no exact matches in call to static method 'schedule'
    try PreciseTimer.schedule(.every(.seconds(1)), calling: Model.step, target: model)
    // error: has no member 'stepp'
    try PreciseTimer.schedule(.every(.seconds(1)), target: poller) { poller, _ in poller.stepp() }
    // error: renamed to 'cancel()'
    timer.invalidate()
    // error: renamed to 'cancel()'
    timer.stop()
    // error: a timer runs from its schedule on
    timer.start()
    // error: state == .scheduled
    print(timer.isValid)
    // error: write: try PreciseTimer.schedule
    _ = PreciseTimer.scheduledTimer(withTimeInterval: 1, repeats: true) { timer in print(timer) }
    // error: write: try PreciseTimer.schedule
    _ = PreciseTimer.schedule(every: .seconds(1)) { print("tick") }
    // error: write: try PreciseTimer.schedule
    PreciseTimer.schedule(every: .seconds(1), target: poller) { poller, tick in poller.step() }
}
