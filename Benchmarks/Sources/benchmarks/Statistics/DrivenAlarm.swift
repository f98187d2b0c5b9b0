import PreciseTimer
import Synchronization

/// An alarm on the real clock without a thread: it fires when it is told to.
final class DrivenAlarm: TimerAlarm {
    private let onFire = Mutex<(@Sendable () -> Void)?>(nil)

    var now: TimerInstant { TimerInstant(nanoseconds: Clock.now()) }

    func start(onFire: @escaping @Sendable () -> Void, onFailure: @escaping @Sendable (TimerError) -> Void) {
        self.onFire.withLock { $0 = onFire }
    }

    func set(_ deadline: TimerInstant?) {}

    func stop() { onFire.withLock { $0 = nil } }

    /// The function to call for a firing; nil before the start.
    var firing: (@Sendable () -> Void)? { onFire.withLock { $0 } }
}
