import PreciseTimer
import Synchronization

/// An alarm without a thread: `advance` moves its clock and fires it.
final class ManualAlarm: TimerAlarm {
    private let time = Atomic<UInt64>(1_000_000_000)
    private let onFire = Mutex<(@Sendable () -> Void)?>(nil)

    var now: TimerInstant { TimerInstant(nanoseconds: time.load(ordering: .relaxed)) }

    func start(onFire: @escaping @Sendable () -> Void, onFailure: @escaping @Sendable (TimerError) -> Void) {
        self.onFire.withLock { $0 = onFire }
    }

    func set(_ deadline: TimerInstant?) {}

    func stop() { onFire.withLock { $0 = nil } }

    func advance(by nanoseconds: UInt64) {
        time.add(nanoseconds, ordering: .relaxed)
        onFire.withLock { $0 }?()
    }
}

/// The timers' target.
final class Target: Sendable {
    private let counter = Atomic(0)

    var ticks: Int { counter.load(ordering: .relaxed) }

    func tick(_ tick: PreciseTimer.Tick) { counter.add(1, ordering: .relaxed) }
}
