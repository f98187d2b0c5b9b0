internal import Synchronization
package import TimerKernel

/// A timerfd without a thread, for the host's loop to wait on. The host calls ``process()`` when it is readable.
package final class PollableAlarm: TimerAlarm {
    /// The callbacks, which are called until the alarm is stopped or has failed.
    private struct Callbacks: Sendable {
        let onFire: @Sendable () -> Void
        let onFailure: @Sendable (TimerError) -> Void
    }

    private let timer: TimerDescriptor
    private let clock: TimerClock
    private let callbacks = Lock<Callbacks?>(nil)
    /// A lock that is only tried. Acquiring and releasing: a firing sees everything that the one before it has done.
    private let isFiring = Atomic(false)
    /// A forked child shares the timer, so reading it there would take an expiry from the parent.
    private let home = Process.generation
    /// The forked child in which the timer's number belongs to a timer of the child. Stored with release after the
    /// number was replaced, so a thread of the child that sees it finds the child's timer.
    private let replacedIn = Atomic<UInt>(0)

    /// - Throws: `TimerError` if the system refuses the descriptor.
    package init(_ clock: TimerClock) throws(TimerError) {
        timer = try TimerDescriptor(clock, isBlocking: false)
        self.clock = clock
    }

    /// Readable once the deadline has passed; closed with the alarm.
    package var descriptor: CInt { timer.number }

    /// Whether the timer belongs to the parent of this process.
    var isInForkedChild: Bool { Process.generation != home }

    /// Whether the process is known to have closed the descriptor from outside.
    var isLost: Bool { timer.isLost }

    package var now: TimerInstant { clock.now }

    package func start(
        onFire: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (TimerError) -> Void
    ) {
        callbacks.withLock { $0 = Callbacks(onFire: onFire, onFailure: onFailure) }
    }

    package func set(_ deadline: TimerInstant?) throws(TimerError) { try timer.set(deadline) }

    package func stop() {
        _ = callbacks.withLock { $0.take() }
        // A needless expiry would wake the host's loop. In a forked child the timer belongs to the parent.
        if !isInForkedChild { try? timer.set(nil) }
    }

    /// Fires on the calling thread, needlessly if no timer is due. It fires even without an expiry to read, since the
    /// loop may have read it.
    package func process() {
        if isInForkedChild { return beQuietInForkedChild() }
        // While another firing runs, the expiry is not read: the descriptor stays readable, and nothing is lost.
        guard !isFiring.exchange(true, ordering: .acquiring) else { return }
        defer { isFiring.store(false, ordering: .releasing) }
        do throws(TimerError) {
            _ = try timer.takeExpiry()
            callbacks.withLock { $0 }?.onFire()
        } catch {
            callbacks.withLock { $0.take() }?.onFailure(error)
        }
    }

    /// The parent's timer stays readable in the child, whose loop would spin. So the number is given to a new timer
    /// that never expires. If the system refuses a descriptor for it, the next call tries again.
    private func beQuietInForkedChild() {
        if replacedIn.load(ordering: .acquiring) == Process.generation { return }
        guard (try? timer.replaceInForkedChild()) != nil else { return }
        replacedIn.store(Process.generation, ordering: .releasing)
    }

    /// Makes the descriptor readable at once.
    package func wake() { try? timer.set(now) }
}
