internal import CLinuxTimers
internal import Glibc
package import TimerCore

/// A timerfd (see timerfd_create(2)), closed when the value ends.
package struct TimerDescriptor: ~Copyable, Sendable {
    /// The number of the descriptor, which stays this value's to close.
    package let number: CInt
    private let clock: TimerClock

    /// A new disarmed timer on a clock, closed in programs that this process executes.
    ///
    /// - Parameters:
    ///   - clock: whose instants it is set to.
    ///   - isBlocking: whether reading it waits; no matter to ``wait()``.
    /// - Throws: `TimerError` where the system refuses the descriptor.
    package init(_ clock: TimerClock, isBlocking: Bool = true) throws(TimerError) {
        let flags = CInt(TFD_CLOEXEC) | (isBlocking ? 0 : CInt(TFD_NONBLOCK))
        switch SystemCall.retrying({ timerfd_create(clock.kernelID, flags) }) {
        case .success(let number): self.number = number
        case .failure(let errno): throw errno.error(attempting: "creating a timerfd")
        }
        self.clock = clock
    }

    deinit { close(number) }

    /// Sets the absolute deadline, or disarms. A reader that waits is woken when a past deadline is set, too.
    ///
    /// On the wall clock a step of the clock counts as an expiry, so that whoever waits looks at the clock again.
    package borrowing func set(_ deadline: TimerInstant?) throws(TimerError) {
        var setting = itimerspec()
        // A value of zero would disarm: the earliest deadline is 1 ns.
        if let deadline { setting.it_value = timespec(max(deadline, deadline.clock.firstNanosecond)) }
        let number = number
        let flags = CInt(TFD_TIMER_ABSTIME) | (clock == .wall ? CInt(TFD_TIMER_CANCEL_ON_SET) : 0)
        switch SystemCall.retrying({ unsafe timerfd_settime(number, flags, &setting, nil) }) {
        // Of a step since the last setting. This one holds all the same: see NOTES in timerfd_create(2).
        case .success, .failure(Errno(ECANCELED)): return
        case .failure(let errno): throw errno.error(attempting: "setting a timerfd")
        }
    }

    /// Waits until the deadline has passed. Interruptions and readings without an expiry are waited through.
    package borrowing func wait() throws(TimerError) {
        while try !takeExpiry() { try waitUntilReadable() }
    }

    /// Takes the expiry away, which makes the descriptor unreadable. Returns whether there was one; a descriptor that
    /// blocks is waited for.
    package borrowing func takeExpiry() throws(TimerError) -> Bool {
        let number = number
        var expirations: UInt64 = 0
        switch SystemCall.retrying({ unsafe read(number, &expirations, MemoryLayout<UInt64>.size) }) {
        // Cancelled: the wall clock was stepped.
        case .success, .failure(Errno(ECANCELED)): return true
        case .failure(Errno(EAGAIN)): return false
        case .failure(let errno): throw errno.error(.backendFailed, attempting: "reading a timerfd")
        }
    }

    /// Somebody made the descriptor non-blocking (an inherited one is shared): wait here rather than spin.
    private borrowing func waitUntilReadable() throws(TimerError) {
        var request = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        if case .failure(let errno) = SystemCall.retrying({ unsafe poll(&request, 1, -1) }) {
            throw errno.error(.backendFailed, attempting: "waiting for a timerfd")
        }
    }
}

extension TimerClock {
    /// The earliest instant that a timerfd can be set to.
    fileprivate var firstNanosecond: TimerInstant { TimerInstant(nanoseconds: 1, clock: self) }
}
