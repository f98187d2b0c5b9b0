internal import Synchronization
package import TimerCore

/// A timerfd that somebody else's loop waits for, without a thread: whoever finds it readable has it fire.
package final class PollableAlarm: TimerAlarm {
    /// What is called until the alarm is stopped, or has failed.
    private struct Callbacks: Sendable {
        let onFire: @Sendable () -> Void
        let onFailure: @Sendable (TimerError) -> Void
    }

    private let timer: TimerDescriptor
    private let clock: TimerClock
    private let callbacks = Lock<Callbacks?>(nil)
    private let isFiring = Atomic(false)
    /// A forked child has the same timer: to read it would be to take an expiry from the parent.
    private let processID = Process.id
    /// The forked child in which the timer's number is that of a timer of the child's.
    private let replacedIn = Atomic<Int32>(0)

    /// - Throws: `TimerError` where the system refuses the descriptor.
    package init(_ clock: TimerClock) throws(TimerError) {
        timer = try TimerDescriptor(clock, isBlocking: false)
        self.clock = clock
    }

    /// Readable when the deadline has come; closed with the alarm.
    package var descriptor: CInt { timer.number }

    /// Whether the timer belongs to the parent of this process.
    var isInForkedChild: Bool { Process.id != processID }

    /// Whether the process closed the descriptor from outside, as far as is known.
    var isLost: Bool { timer.isLost }

    package var now: TimerInstant { KernelClock.now(clock) }

    package func start(
        onFire: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (TimerError) -> Void
    ) {
        callbacks.withLock { $0 = Callbacks(onFire: onFire, onFailure: onFailure) }
    }

    package func set(_ deadline: TimerInstant?) throws(TimerError) { try timer.set(deadline) }

    /// Goes on by itself on clocks that are not stepped.
    package func set(_ first: TimerInstant, every period: UInt64) throws(TimerError) -> Bool {
        guard timer.canRepeat(every: period) else {
            try set(first)
            return false
        }
        try timer.set(first, repeatingEvery: period)
        // A setting that crossed a stop may have undone its disarming.
        if callbacks.withLock({ $0 == nil }) { disarm() }
        return true
    }

    package func stop() {
        _ = callbacks.withLock { $0.take() }
        disarm()
    }

    /// Ends a repetition, which would wake the host's loop forever. In a forked child the timer is the parent's.
    private func disarm() { if !isInForkedChild { try? timer.set(nil) } }

    /// Fires on the calling thread, for nothing where nothing is due. Whether there was an expiry to read does not matter:
    /// the loop may have read it.
    package func process() {
        if isInForkedChild { return beQuietInForkedChild() }
        // Left alone while a firing runs: the descriptor stays readable, and nothing is lost.
        guard !isFiring.exchange(true, ordering: .acquiring) else { return }
        defer { isFiring.store(false, ordering: .releasing) }
        do throws(TimerError) {
            _ = try timer.takeExpiry()
            callbacks.withLock { $0 }?.onFire()
        } catch {
            callbacks.withLock { $0.take() }?.onFailure(error)
        }
    }

    /// The parent's timer stays readable in the child, whose loop would spin: the child's number becomes that of a timer
    /// which never expires. If the system refuses a descriptor for it, the next call tries again.
    private func beQuietInForkedChild() {
        if replacedIn.load(ordering: .acquiring) == Process.id { return }
        guard (try? timer.replaceInForkedChild()) != nil else { return }
        replacedIn.store(Process.id, ordering: .releasing)
    }

    /// Makes the descriptor readable, at once.
    package func wake() { try? timer.set(now) }
}
