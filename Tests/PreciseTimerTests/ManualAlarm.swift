import PreciseTimer
import TimerAlarms

/// An alarm that fires when a test asks it to, even after a stop, and records its settings.
final class ManualAlarm: TimerAlarm {
    private struct State {
        var now = TimerInstant(nanoseconds: 1_000)
        var settings: [TimerInstant?] = []
        var onFire: (@Sendable () -> Void)?
    }

    private let state = Lock(State())

    var now: TimerInstant { state.withLock { $0.now } }

    /// All settings, in order.
    var settings: [TimerInstant?] { state.withLock { $0.settings } }

    func start(onFire: @escaping @Sendable () -> Void, onFailure: @escaping @Sendable (TimerError) -> Void) {
        state.withLock { $0.onFire = onFire }
    }

    func set(_ deadline: TimerInstant?) { state.withLock { $0.settings.append(deadline) } }

    func stop() {}

    func move(by duration: Duration) { state.withLock { $0.now = $0.now.advanced(by: duration) } }

    func fire() { state.withLock { $0.onFire }?() }
}
