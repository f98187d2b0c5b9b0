internal import CLinuxTimers
internal import Glibc
package import TimerCore

/// A timerfd (see timerfd_create(2)), closed when the value ends.
package struct TimerDescriptor: ~Copyable, Sendable {
    private let descriptor: CInt

    /// A new disarmed timer on a clock, closed in programs that this process executes.
    package init(_ clock: TimerClock) throws(TimerError) {
        switch SystemCall.retrying({ timerfd_create(clock.kernelID, CInt(TFD_CLOEXEC)) }) {
        case .success(let descriptor): self.descriptor = descriptor
        case .failure(let errno): throw errno.error(attempting: "creating a timerfd")
        }
    }

    deinit { close(descriptor) }

    /// Sets the absolute deadline, or disarms. A reader that waits is woken when a past deadline is set, too.
    package borrowing func set(_ deadline: TimerInstant?) throws(TimerError) {
        var setting = itimerspec()
        // A value of zero would disarm: the earliest deadline is 1 ns.
        if let deadline { setting.it_value = timespec(max(deadline, deadline.clock.firstNanosecond)) }
        let descriptor = descriptor
        let result = SystemCall.retrying {
            unsafe timerfd_settime(descriptor, CInt(TFD_TIMER_ABSTIME), &setting, nil)
        }
        if case .failure(let errno) = result { throw errno.error(attempting: "setting a timerfd") }
    }

    /// Waits until the deadline has passed. Interruptions and readings without an expiry are waited through.
    package borrowing func wait() throws(TimerError) {
        let descriptor = descriptor
        while true {
            var expirations: UInt64 = 0
            switch SystemCall.retrying({ unsafe read(descriptor, &expirations, MemoryLayout<UInt64>.size) }) {
            case .success: return
            case .failure(Errno(EAGAIN)): try waitUntilReadable()
            case .failure(let errno): throw errno.error(.backendFailed, attempting: "reading a timerfd")
            }
        }
    }

    /// Somebody made the descriptor non-blocking (an inherited one is shared): wait here rather than spin.
    private borrowing func waitUntilReadable() throws(TimerError) {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        if case .failure(let errno) = SystemCall.retrying({ unsafe poll(&request, 1, -1) }) {
            throw errno.error(.backendFailed, attempting: "waiting for a timerfd")
        }
    }
}

extension TimerClock {
    /// The earliest instant that a timerfd can be set to.
    fileprivate var firstNanosecond: TimerInstant { TimerInstant(nanoseconds: 1, clock: self) }
}
