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
    /// The instant for which the timer is set, in nanoseconds; 0 if it was set to wake the loop. Stored before the timer
    /// is set: a thread that is told of the expiry sees it, because the kernel's lock on the timer lies in between.
    private let expiry = Atomic<UInt64>(.max)
    /// How many threads are about to wake the loop.
    private let wakeUps = Atomic(0)
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
        expiry.store(deadline?.nanoseconds ?? .max, ordering: .releasing)
        try timer.set(deadline)
    }

    package func stop() {
        _ = callbacks.withLock { $0.take() }
        // A needless expiry would wake the host's loop. In a forked child the timer belongs to the parent.
        if !isInForkedChild { try? set(nil) }
    }

    /// Fires on the calling thread if the timer is due, even without an expiry to read, since the loop may have read it.
    /// Otherwise it only reads the clock; on the wall clock also the descriptor, since a step of the clock makes that
    /// readable.
    ///
    /// A call that finds another firing takes the expiry, too. Otherwise a loop that is told as long as the descriptor
    /// is readable would turn until the firing ends. It leaves a mark, and the firing makes the descriptor readable
    /// again when it has ended: a loop that is told of each expiry once has used this one up.
    package func process() {
        if isInForkedChild { return beQuietInForkedChild() }
        if clock != .wall, isEarly { return }
        // Taken before the mark: the expiry that answers the mark is left to a later call.
        do throws(TimerError) { if try !timer.takeExpiry(), isEarly { return } } catch { return fail(error) }
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

    /// Whether the timer cannot have expired, unless a step of the wall clock made the descriptor readable.
    ///
    /// The order of the two loads: a thread that is told of a wake-up finds it still counted, or sees what ``wake()`` or
    /// a later setting has stored. Some microseconds before the expiry the answer is no, since the kernel may round the
    /// two clocks differently.
    private var isEarly: Bool {
        guard wakeUps.load(ordering: .acquiring) == 0 else { return false }
        let expiry = expiry.load(ordering: .acquiring)
        return expiry > Self.rounding && now.nanoseconds < expiry - Self.rounding
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

    /// Makes the descriptor readable at once. Another thread may set the timer meanwhile. If its setting is the last
    /// one, the loop sleeps until then.
    package func wake() {
        wakeUps.add(1, ordering: .acquiringAndReleasing)
        try? timer.set(now)
        // After the timer: an instant that was stored before belongs to a setting that this one has replaced, or will be
        // replaced itself.
        expiry.store(0, ordering: .releasing)
        wakeUps.subtract(1, ordering: .acquiringAndReleasing)
    }
}
