import Dispatch
import PreciseTimer
import PreciseTimerTestKit
import Synchronization
import TestSupport
import TimerAlarms
import TimerKernel

/// A working alarm that is made to break one clause of the contract.
final class BrokenAlarm: TimerAlarm {
    private let broken: AlarmConformance.Clause?
    private let good: any TimerAlarm
    private let isSet = Atomic(false)
    private let isStopped = Atomic(false)
    private let onFire = Lock(Firing())

    /// A structure: a function that stands alone in a lock is wrapped once more with each access.
    private struct Firing {
        var call: (@Sendable () -> Void)?
    }

    init(breaking broken: AlarmConformance.Clause?, over good: any TimerAlarm) {
        self.broken = broken
        self.good = good
    }

    var now: TimerInstant { good.now }

    func start(
        onFire: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (TimerError) -> Void
    ) throws(TimerError) {
        self.onFire.withLock { $0.call = onFire }
        let onItsOwnThread: @Sendable () -> Void = { try? Thread.start("broken") { onFire() } }
        try good.start(onFire: broken == .neverFiresTwiceAtOnce ? onItsOwnThread : onFire, onFailure: onFailure)
    }

    func set(_ deadline: TimerInstant?) throws(TimerError) {
        switch broken {
        case .holdsOneDeadline where isSet.exchange(true, ordering: .sequentiallyConsistent):
            break  // keeps its present deadline
        case .firesForPastDeadlines where deadline.map { $0 <= now } ?? false:
            try good.set(nil)
        case .neverFiresInsideSet where deadline.map { $0 <= now } ?? false:
            onFire.withLock { $0.call }?()
        case .stopIsFinal where deadline != nil && isStopped.load(ordering: .sequentiallyConsistent):
            fireOnAnotherThread()
        default:
            try good.set(deadline)
        }
    }

    /// If it breaks no clause, it repeats by itself, so that the checks of repetition are seen to pass.
    func set(_ first: TimerInstant, every period: UInt64) throws(TimerError) -> Bool {
        switch broken {
        case nil:
            return try good.set(first, every: period)
        case .goesOnIfItSaysSo:
            try good.set(first)
            return true
        default:
            try set(first)
            return false
        }
    }

    func stop() {
        isStopped.store(true, ordering: .sequentiallyConsistent)
        if broken != .stopIsFinal { good.stop() }
    }

    /// Waits for the firing, so that the check notices it in time.
    private func fireOnAnotherThread() {
        let done = DispatchSemaphore(value: 0)
        let onFire = onFire.withLock { $0.call }
        let isStarted: Void? = try? Thread.start("broken") {
            onFire?()
            done.signal()
        }
        if isStarted != nil { done.wait() }
    }
}

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
