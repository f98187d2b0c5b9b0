import PreciseTimer
import TestSupport
import TimerAlarms
import TimerKernel

/// A started alarm with one deadline, which is set again after an early firing, as a service does.
final class SetAlarm: Sendable {
    /// The firings of an alarm.
    struct Account {
        /// Firings before the deadline.
        var early = 0
        /// Firings at or after the deadline.
        var due = 0
    }

    private let alarm: any TimerAlarm
    private let account = Lock(Account())
    /// The deadline. This lock is held while the alarm is set, because two threads must never set it at once.
    private let deadline: Lock<TimerInstant>

    /// Starts a new alarm, with a deadline this long after its current time.
    init(_ mechanism: Mechanism, in delay: Duration) throws {
        alarm = try mechanism.makeAlarm()
        deadline = Lock(alarm.now)
        try alarm.start(onFire: { [weak self] in self?.fired() }, onFailure: { _ in })
        try set(in: delay)
    }

    deinit { alarm.stop() }

    /// The firings so far.
    var firings: Account { account.withLock { $0 } }

    /// Sets the alarm to a deadline this long after its current time.
    func set(in delay: Duration) throws {
        try deadline.withLock { deadline in
            deadline = alarm.now.advanced(by: delay)
            try alarm.set(deadline)
        }
    }

    private func fired() {
        let isDue = deadline.withLock { deadline in
            let isDue = alarm.now >= deadline
            if !isDue { try? alarm.set(deadline) }
            return isDue
        }
        account.withLock { account in
            if isDue { account.due += 1 } else { account.early += 1 }
        }
    }
}
