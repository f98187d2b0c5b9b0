import PreciseTimer
import PreciseTimerTestKit
import Synchronization
import TimerAlarms

/// A good alarm spoiled in one clause of the contract.
final class BrokenAlarm: TimerAlarm {
    private let broken: AlarmConformance.Clause?
    private let good: any TimerAlarm
    private let isSet = Atomic(false)
    private let onFire = Lock<(@Sendable () -> Void)?>(nil)

    init(breaking broken: AlarmConformance.Clause?, over good: any TimerAlarm) {
        self.broken = broken
        self.good = good
    }

    var now: TimerInstant { good.now }

    func start(
        onFire: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (TimerError) -> Void
    ) throws(TimerError) {
        self.onFire.withLock { $0 = onFire }
        let onItsOwnThread: @Sendable () -> Void = { try? Thread.start("broken") { onFire() } }
        try good.start(onFire: broken == .neverFiresTwiceAtOnce ? onItsOwnThread : onFire, onFailure: onFailure)
    }

    func set(_ deadline: TimerInstant?) throws(TimerError) {
        switch broken {
        case .holdsOneDeadline where isSet.exchange(true, ordering: .sequentiallyConsistent):
            break  // keeps the deadline that it has
        case .firesForPastDeadlines where deadline.map { $0 <= now } ?? false:
            try good.set(nil)
        case .neverFiresInsideSet where deadline.map { $0 <= now } ?? false:
            onFire.withLock { $0 }?()
        default:
            try good.set(deadline)
        }
    }

    func stop() {
        if broken != .stopIsFinal { good.stop() }
    }
}
