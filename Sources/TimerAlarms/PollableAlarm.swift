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
    /// What ``process()`` is doing.
    private enum Firing {
        static let none = 0
        static let goesOn = 1
        /// Another thread came meanwhile, took the expiry, and left.
        static let hasRefused = 2
    }

    /// A lock that is only tried. Acquiring and releasing: a firing sees everything that the one before it has done.
    private let firing = Atomic(Firing.none)
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
    ///
    /// A call that finds another firing takes the expiry, too. Otherwise a loop that is told as long as the descriptor
    /// is readable would turn until the firing ends. It leaves a mark, and the firing makes the descriptor readable
    /// again when it has ended: a loop that is told of each expiry once has used this one up.
    package func process() {
        if isInForkedChild { return beQuietInForkedChild() }
        // Taken before the mark: the expiry that answers the mark is left to a later call.
        do throws(TimerError) { _ = try timer.takeExpiry() } catch { return fail(error) }
        while !firing.compareExchange(
            expected: Firing.none,
            desired: Firing.goesOn,
            ordering: .acquiringAndReleasing
        )
        .exchanged {
            let mark = firing.compareExchange(
                expected: Firing.goesOn,
                desired: Firing.hasRefused,
                ordering: .acquiringAndReleasing
            )
            if mark.original != Firing.none { return }
        }
        callbacks.withLock { $0 }?.onFire()
        // A handler may have forked, and this may be the child.
        let former = firing.exchange(Firing.none, ordering: .acquiringAndReleasing)
        if former == Firing.hasRefused, !isInForkedChild, callbacks.withLock({ $0 != nil }) { wake() }
    }

    private func fail(_ error: TimerError) { callbacks.withLock { $0.take() }?.onFailure(error) }

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
