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
        /// Another thread came, took the expiry, and left.
        static let hasRefused = 2
    }

    /// A lock that is only tried. Acquiring and releasing: a firing sees everything that the one before it has done.
    private let firing = Atomic(Firing.none)
    /// From when on the timer may be readable, in nanoseconds. Stored with ``settings`` locked, before the timer is
    /// set: a thread that epoll wakes for an expiry sees it, because the kernel's lock on the timer lies in between.
    private let expiry = Atomic<UInt64>(0)
    /// How often the timer was set.
    private let settings = Lock(0)
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

    package func set(_ deadline: TimerInstant?) throws(TimerError) {
        try set(deadline, expiring: deadline?.nanoseconds ?? .max)
    }

    private func set(_ deadline: TimerInstant?, expiring instant: UInt64) throws(TimerError) {
        try settings.withLock { count throws(TimerError) in
            count += 1
            expiry.store(instant, ordering: .releasing)
            try timer.set(deadline)
        }
    }

    package func stop() {
        _ = callbacks.withLock { $0.take() }
        // A needless expiry would wake the host's loop. In a forked child the timer belongs to the parent.
        if !isInForkedChild { try? set(nil) }
    }

    /// Fires on the calling thread if the timer is due, even without an expiry to read, since the loop may have read
    /// it. Otherwise it only reads the clock; on the wall clock also the descriptor, since a step of the clock makes
    /// that readable.
    ///
    /// A call that finds another firing takes the expiry, too. Otherwise a loop that is woken as long as the descriptor
    /// is readable would turn until the firing ends. It leaves a mark, and the firing makes the descriptor readable
    /// again when it has ended: a loop that is woken once for each expiry has used this one up.
    package func process() {
        if isInForkedChild { return beQuietInForkedChild() }
        if clock != .wall, isEarly { return }
        let count = settings.withLock { $0 }
        let hasExpired: Bool
        // Taken before the mark: the expiry that answers the mark is left to a later call.
        do throws(TimerError) { hasExpired = try timer.takeExpiry() } catch { return fail(error) }
        if !hasExpired, isEarly { return }
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
        if !isInForkedChild { useUp(setting: count, hasExpired) }
        let previous = firing.exchange(Firing.none, ordering: .acquiringAndReleasing)
        if previous == Firing.hasRefused, !isInForkedChild, callbacks.withLock({ $0 != nil }) { wake() }
    }

    /// Whether the timer cannot have expired, unless a step of the wall clock made the descriptor readable. Some
    /// microseconds before the expiry the answer is no, since the kernel may round the two clocks differently.
    private var isEarly: Bool {
        let expiry = expiry.load(ordering: .acquiring)
        return expiry > Self.rounding && (expiry == .max || now.nanoseconds < expiry - Self.rounding)
    }

    /// Notes after a firing that the timer will not expire any more, unless it was set since. If its expiry was not
    /// read here, it may still come.
    private func useUp(setting: Int, _ hasExpired: Bool) {
        settings.withLock { count in
            guard count == setting, hasExpired || (try? timer.set(nil)) != nil else { return }
            expiry.store(.max, ordering: .releasing)
        }
    }

    /// In nanoseconds.
    private static let rounding: UInt64 = 5_000

    private func fail(_ error: TimerError) { callbacks.withLock { $0.take() }?.onFailure(error) }

    /// The parent's timer stays readable in the child, whose loop would spin. So the number is given to a new timer
    /// that never expires. If the system refuses a descriptor for it, the next call tries again.
    private func beQuietInForkedChild() {
        if replacedIn.load(ordering: .acquiring) == Process.generation { return }
        guard (try? timer.replaceInForkedChild()) != nil else { return }
        replacedIn.store(Process.generation, ordering: .releasing)
    }

    /// Makes the descriptor readable at once.
    package func wake() { try? set(now, expiring: 0) }
}
