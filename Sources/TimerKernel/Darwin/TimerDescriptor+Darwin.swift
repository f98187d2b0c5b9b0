#if canImport(Darwin) || KQUEUE
internal import CTimerKernel

/// A timer of the kernel, alone on a queue of events (kqueue(2), EVFILT_TIMER), closed when the value ends.
///
/// It does what the timerfd of Linux does, with two differences. It cannot wait on the wall clock: the kernel converts
/// such a deadline once, and does not look at the clock again (filt_timervalidate in xnu's bsd/kern/kern_event.c). And
/// a forked child does not have the queue.
package struct TimerDescriptor: ~Copyable, Sendable {
    /// The number of the descriptor, which only this value may close. It is readable once the deadline has passed.
    package let number: CInt
    private let clock: TimerClock
    private let isBlocking: Bool
    private let claim: DescriptorClaim
    private let home = Process.generation

    /// The clocks on which it can wait.
    package static var clocks: Set<TimerClock> { [.suspending, .continuous] }

    /// Creates a disarmed timer on a clock, which is closed in programs that this process executes.
    ///
    /// - Parameters:
    ///   - clock: the clock of its deadlines, one of ``clocks``.
    ///   - isBlocking: whether taking the expiry waits for it; ``wait()`` waits in either case.
    /// - Throws: `TimerError` if the system refuses the descriptor.
    package init(_ clock: TimerClock, isBlocking: Bool = true) throws(TimerError) {
        guard Self.clocks.contains(clock) else {
            throw TimerError(.unavailable, "waiting on the \(clock.rawValue) clock with a kernel timer (not on a Mac)")
        }
        switch SystemCall.retrying({ timer_queue_create() }) {
        case .success(let number):
            self.number = number
            claim = DescriptorClaim(number)
        case .failure(let errno): throw errno.error(attempting: "creating a kqueue")
        }
        self.clock = clock
        self.isBlocking = isBlocking
    }

    // In a forked child the number is free, or another file's.
    deinit { if Process.generation == home { claim.close() } }

    /// Whether the number is known to belong to this timer no more.
    package var isLost: Bool { claim.isLost }

    /// Sets the absolute deadline, or disarms. Setting a past deadline wakes a waiting thread, too. Two calls on one
    /// timer are ordered, as on Linux: each takes the kernel's lock on the queue.
    ///
    /// - Parameter deadline: the instant of the expiry.
    /// - Throws: `TimerError` if the kernel refuses, or the descriptor is lost.
    package borrowing func set(_ deadline: TimerInstant?) throws(TimerError) {
        if isLost { throw Errno(EBADF).error(.backendFailed, attempting: "setting a kernel timer") }
        let (number, isContinuous) = (number, CInt(clock == .continuous ? 1 : 0))
        let result = SystemCall.retrying {
            // Zero would be no instant.
            deadline.map { timer_queue_set(number, max($0.nanoseconds, 1), isContinuous) } ?? timer_queue_clear(number)
        }
        if case .failure(let errno) = result {
            throw failure(errno, .systemRefused, attempting: "setting a kernel timer")
        }
    }

    /// Waits until the deadline has passed, even if signals interrupt it.
    package borrowing func wait() throws(TimerError) {
        while try !takeExpiry(waits: true) {}
    }

    /// Takes the expiry, so that the descriptor is unreadable. Returns whether there was one; on a blocking
    /// descriptor, waits for one.
    package borrowing func takeExpiry() throws(TimerError) -> Bool { try takeExpiry(waits: isBlocking) }

    private borrowing func takeExpiry(waits: Bool) throws(TimerError) -> Bool {
        if isLost { throw Errno(EBADF).error(.backendFailed, attempting: "waiting for a kernel timer") }
        let number = number
        switch SystemCall.retrying({ timer_queue_take(number, waits ? 1 : 0) }) {
        case .success(let count): return count > 0
        case .failure(let errno): throw failure(errno, .backendFailed, attempting: "waiting for a kernel timer")
        }
    }

    /// In a forked child there is no descriptor that would have to be silenced.
    package borrowing func replaceInForkedChild() throws(TimerError) {}

    /// The error of a failed call. With these numbers the descriptor is no queue any more, since the arguments are
    /// always valid.
    private borrowing func failure(
        _ errno: Errno,
        _ code: TimerError.Code,
        attempting attempted: String
    ) -> TimerError {
        if [EBADF, EINVAL, ENOENT].contains(errno.number) { claim.lose() }
        return errno.error(code, attempting: attempted)
    }
}
#endif
