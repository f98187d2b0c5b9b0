import PreciseTimer
import PreciseTimerTestKit
import TestSupport

/// A working alarm that repeats by itself, and is made to break its repetition in one way.
final class BrokenRepetition: TimerAlarm {
    /// The raw value is the violation that the check reports.
    enum Flaw: String, CaseIterable, Sendable {
        /// It says that it does not repeat, but repeats.
        case goesOnSecretly = "the alarm repeats by itself, though it said that it does not"
        /// It says that it repeats, but ignores a first deadline that has passed.
        case losesPastDeadlines = "the alarm said that it repeats by itself, but does not"
        /// Disarming does not end the repetition.
        case outlivesDisarming = "the alarm repeats by itself after it was disarmed"
        /// A later deadline does not end the repetition.
        case outlivesReplacement = "the alarm repeats by itself after it was set to a far deadline"
        /// Stopping does not end the repetition.
        case outlivesStop = "the alarm repeats by itself after it was stopped"
        /// It ignores every repetition after the first one.
        case keepsTheFirst = "a repetition with a long period did not replace one with a short period"
    }

    private let flaw: Flaw
    private let good = VirtualAlarm()
    private let isRepeating = Box<Bool>()

    init(_ flaw: Flaw) { self.flaw = flaw }

    var now: TimerInstant { good.now }

    func advance(by duration: Duration) { good.advance(by: duration) }

    func start(onFire: @escaping @Sendable () -> Void, onFailure: @escaping @Sendable (TimerError) -> Void) {
        good.start(onFire: onFire, onFailure: onFailure)
    }

    func set(_ deadline: TimerInstant?) {
        let isKept =
            switch flaw {
            case .outlivesDisarming: deadline == nil
            case .outlivesReplacement: deadline != nil
            default: false
            }
        if isKept && isRepeating.value == true { return }
        isRepeating.value = false
        good.set(deadline)
    }

    func set(_ first: TimerInstant, every period: UInt64) -> Bool {
        if flaw == .keepsTheFirst && isRepeating.value == true { return true }
        isRepeating.value = true
        if flaw == .losesPastDeadlines && first < now {
            good.set(nil)
            return true
        }
        return good.set(first, every: period) && flaw != .goesOnSecretly
    }

    func stop() { if flaw != .outlivesStop { good.stop() } }
}
