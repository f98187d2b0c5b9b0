internal import CLinuxTimers
internal import Glibc
internal import Synchronization
package import TimerCore

/// A timerfd (see timerfd_create(2)), closed when the value ends.
///
/// If the process closes the descriptor from outside, its number may be given to another file at any time. So the first
/// error that tells of it is remembered: from then on the number is neither used nor closed.
package struct TimerDescriptor: ~Copyable, Sendable {
    /// The number of the descriptor, which stays this value's to close.
    package let number: CInt
    private let clock: TimerClock
    private let lost = Atomic(false)

    /// A new disarmed timer on a clock, closed in programs that this process executes.
    ///
    /// - Parameters:
    ///   - clock: whose instants it is set to.
    ///   - isBlocking: whether reading it waits; no matter to ``wait()``.
    /// - Throws: `TimerError` if the system refuses the descriptor.
    package init(_ clock: TimerClock, isBlocking: Bool = true) throws(TimerError) {
        let flags = CInt(TFD_CLOEXEC) | (isBlocking ? 0 : CInt(TFD_NONBLOCK))
        switch SystemCall.retrying({ timerfd_create(clock.kernelID, flags) }) {
        case .success(let number): self.number = number
        case .failure(let errno): throw errno.error(attempting: "creating a timerfd")
        }
        self.clock = clock
    }

    deinit { if !isLost { close(number) } }

    /// Whether the number is known to be no longer that of this timer.
    package var isLost: Bool { lost.load(ordering: .acquiring) }

    /// Sets the absolute deadline, or disarms. A reader that waits is woken when a past deadline is set, too.
    ///
    /// On the wall clock a step of the clock counts as an expiry, so that the reader looks at the clock again.
    ///
    /// - Parameters:
    ///   - deadline: when it expires first.
    ///   - period: how many nanoseconds later it expires again, and so on; 0 for once. See ``canRepeat(every:)``.
    /// - Throws: `TimerError` if the kernel refuses, or the descriptor is lost.
    package borrowing func set(_ deadline: TimerInstant?, repeatingEvery period: UInt64 = 0) throws(TimerError) {
        try checkForLoss(attempting: "setting a timerfd")
        var setting = itimerspec()
        // A value of zero would disarm: the earliest deadline is 1 ns.
        if let deadline {
            setting.it_value = timespec(max(deadline, deadline.clock.firstNanosecond))
            setting.it_interval = timespec(TimerInstant(nanoseconds: period, clock: clock))
        }
        let number = number
        let flags = CInt(TFD_TIMER_ABSTIME) | (clock == .wall ? CInt(TFD_TIMER_CANCEL_ON_SET) : 0)
        switch SystemCall.retrying({ unsafe timerfd_settime(number, flags, &setting, nil) }) {
        // Of a step since the last setting. This one holds all the same: see NOTES in timerfd_create(2).
        case .success, .failure(Errno(ECANCELED)): return
        case .failure(let errno): throw failure(errno, .systemRefused, attempting: "setting a timerfd")
        }
    }

    /// Whether a repetition goes on until the next setting.
    ///
    /// The kernel arms the timer anew when its expiry is read, for the next whole period that has not passed, so that the
    /// grid is kept and no expiry is lost. A step of the wall clock breaks that: reading an expired timer then returns
    /// ECANCELED, and does not arm it (`timerfd_read_iter` in the kernel's fs/timerfd.c).
    package borrowing func canRepeat(every period: UInt64) -> Bool { clock != .wall && period > 0 }

    /// Waits until the deadline has passed. Interruptions and readings without an expiry are waited through.
    package borrowing func wait() throws(TimerError) {
        while try !takeExpiry() { try waitUntilReadable() }
    }

    /// Takes the expiry away, which makes the descriptor unreadable. Returns whether there was one; a descriptor that
    /// blocks is waited for.
    package borrowing func takeExpiry() throws(TimerError) -> Bool {
        try checkForLoss(attempting: "reading a timerfd")
        let number = number
        var expirations: UInt64 = 0
        switch SystemCall.retrying({ unsafe read(number, &expirations, MemoryLayout<UInt64>.size) }) {
        // Cancelled: the wall clock was stepped.
        case .success(MemoryLayout<UInt64>.size), .failure(Errno(ECANCELED)): return true
        case .failure(Errno(EAGAIN)): return false
        // Of another file, which has the number now.
        case .success: throw failure(Errno(EBADF), .backendFailed, attempting: "reading a timerfd")
        case .failure(let errno): throw failure(errno, .backendFailed, attempting: "reading a timerfd")
        }
    }

    /// Gives the number to a new disarmed timer, in a forked child: what this one tells belongs to the parent.
    ///
    /// - Throws: `TimerError` if the system refuses that.
    package borrowing func replaceInForkedChild() throws(TimerError) {
        let quiet = try TimerDescriptor(clock, isBlocking: false)
        let (from, to) = (quiet.number, number)
        if case .failure(let errno) = SystemCall.retrying({ dup2(from, to) }) {
            throw errno.error(attempting: "replacing a timerfd")
        }
        _ = fcntl(to, F_SETFD, FD_CLOEXEC)
    }

    /// The process made the descriptor non-blocking (an inherited one is shared): wait here rather than spin.
    private borrowing func waitUntilReadable() throws(TimerError) {
        var request = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        if case .failure(let errno) = SystemCall.retrying({ unsafe poll(&request, 1, -1) }) {
            throw failure(errno, .backendFailed, attempting: "waiting for a timerfd")
        }
    }

    private borrowing func checkForLoss(attempting attempted: String) throws(TimerError) {
        if isLost { throw Errno(EBADF).error(.backendFailed, attempting: attempted) }
    }

    /// The error of a failed call. A closed descriptor is EBADF, and a number that is another file's by now is EINVAL,
    /// since the arguments are always valid.
    private borrowing func failure(
        _ errno: Errno,
        _ code: TimerError.Code,
        attempting attempted: String
    ) -> TimerError {
        if [EBADF, EINVAL].contains(errno.number) { lost.store(true, ordering: .releasing) }
        return errno.error(code, attempting: attempted)
    }
}

extension TimerClock {
    /// The earliest instant that a timerfd can be set to.
    fileprivate var firstNanosecond: TimerInstant { TimerInstant(nanoseconds: 1, clock: self) }
}
