internal import CLinuxTimers
internal import Glibc

/// A timerfd without anything around it (timerfd_create(2)). Closed with the object.
package final class BareTimer: Sendable {
    private let number: CInt
    private let clock: SystemClock

    package init(_ clock: SystemClock) throws(SystemError) {
        self.clock = clock
        number = timerfd_create(clock.id, CInt(TFD_CLOEXEC))
        if number == -1 { throw .last("creating a timerfd") }
    }

    deinit { close(number) }

    /// Sets an absolute deadline in nanoseconds, and waits until it has passed. Returns early if the kernel refuses
    /// that.
    package func wait(until nanoseconds: UInt64) {
        var setting = itimerspec()
        // A value of zero would disarm the timer.
        setting.it_value = timespec(nanoseconds: max(nanoseconds, 1))
        repeat {
            guard unsafe timerfd_settime(number, CInt(TFD_TIMER_ABSTIME), &setting, nil) == 0 else { return }
            var expirations: UInt64 = 0
            while unsafe read(number, &expirations, MemoryLayout<UInt64>.size) == -1, errno == EINTR {}
            // The time of day may have been set back meanwhile.
        } while clock == .realtime && clock.nanoseconds < nanoseconds
    }
}
