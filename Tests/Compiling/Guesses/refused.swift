// swift-format-ignore-file
// What cannot compile, with the message that says what to write instead.
import PreciseTimer
import PreciseTimerPatterns

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

func others(_ timer: PreciseTimer, _ poller: Poller, _ base: OpaquePointer) async throws {
    // error: renamed to 'cancel()'
    timer.invalidate()
    // error: renamed to 'cancel()'
    timer.stop()
    // error: a timer runs from its schedule on
    timer.start()
    // error: renamed to 'pause()'
    timer.suspend()
    // error: state == .scheduled
    print(timer.isValid)
    // error: state == .paused
    print(timer.isPaused)
    // error: read nextDeadline
    print(timer.fireDate)
    // error: write: try PreciseTimer.schedule
    _ = PreciseTimer.scheduledTimer(withTimeInterval: 1, repeats: true) { timer in print(timer) }
    // error: write: try PreciseTimer.schedule
    _ = PreciseTimer.schedule(every: .seconds(1)) { print("tick") }
    // error: write: try PreciseTimer.schedule
    PreciseTimer.schedule(every: .seconds(1), target: poller) { poller, tick in poller.step() }
    // error: renamed to 'once(after:)'
    _ = PreciseTimer.Schedule.after(.seconds(1))
    // error: .seconds(60 * count)
    _ = Duration.minutes(5)
    // error: deliver: .mainActor
    try PreciseTimer.schedule(.every(.seconds(1)), deliver: .main, target: poller) { poller, tick in poller.step() }
    // error: deliver: .mainActor
    try PreciseTimer.schedule(.every(.seconds(1)), on: .main, target: poller) { poller, tick in poller.step() }
    // error: import PreciseTimerFoundation
    _ = PreciseTimer.Schedule.daily(hour: 2, minute: 30)
    // error: import PreciseTimerFoundation
    _ = PreciseTimer.Schedule.daily(at: "02:30")
    // error: import PreciseTimerFoundation
    _ = PreciseTimer.Schedule.cron("30 2 * * *")
    // error: ThreadOptions(affinity: [2])
    _ = TimerService.ThreadOptions(cpu: 2)
    // error: withRetry(attempts: 5)
    try await PreciseTimer.retry(5) { print("attempt") }
    // error: renamed to 'withDeadline(_:operation:)'
    try await withTimeout(until: TimerClock.suspending.now) { print("late") }
    // error: TimerService(attachedTo: base)
    _ = try TimerService(.libevent(base: base))
}
