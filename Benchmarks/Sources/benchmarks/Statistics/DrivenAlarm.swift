import PreciseTimer
import Synchronization

/// An alarm without a thread: it fires when it is told to. Its clock costs next to nothing, and shows the same times in
/// each run. For one thread.
final class DrivenAlarm: TimerAlarm, @unchecked Sendable {
    private let onFire = Mutex<(@Sendable () -> Void)?>(nil)
    private var time: UInt64 = 1_000_000_000

    /// Each reading is some nanoseconds later than the one before, so that ticks are late and handlers take time.
    var now: TimerInstant {
        time += 25
        return TimerInstant(nanoseconds: time)
    }

    func start(onFire: @escaping @Sendable () -> Void, onFailure: @escaping @Sendable (TimerError) -> Void) {
        self.onFire.withLock { $0 = onFire }
    }

    func set(_ deadline: TimerInstant?) {}

    func stop() { onFire.withLock { $0 = nil } }

    /// Lets time pass.
    func advance(by nanoseconds: UInt64) { time += nanoseconds }

    /// The function to call for a firing; nil before the start.
    var firing: (@Sendable () -> Void)? { onFire.withLock { $0 } }
}
