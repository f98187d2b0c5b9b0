internal import CLinuxTimers
internal import Glibc
package import TimerCore

/// Reads the kernel's clocks and sleeps on them.
package enum KernelClock {
    /// The time on a clock, read from the vDSO: on ordinary hosts this makes no system call.
    package static func now(_ clock: TimerClock) -> TimerInstant {
        var time = timespec()
        unsafe clock_gettime(clock.kernelID, &time)
        return TimerInstant(nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec), clock: clock)
    }

    /// Sleeps until an instant, even if signals interrupt the sleep.
    package static func sleep(until deadline: TimerInstant) {
        var time = timespec(deadline)
        while unsafe clock_nanosleep(deadline.clock.kernelID, TIMER_ABSTIME, &time, nil) == EINTR {}
    }

    /// Sleeps for a length of monotonic time.
    package static func sleep(for duration: Duration) { sleep(until: now(.suspending).advanced(by: duration)) }

    /// Sets how late the kernel may wake the calling thread from a sleep; the default is 50,000 ns. It has no effect
    /// on timerfd and needs no privilege.
    package static func setTimerSlack(nanoseconds: UInt) {
        _ = timer_slack_set(nanoseconds)
    }

    /// The calling thread's timer slack, in nanoseconds. It becomes the default of the threads and programs that
    /// this thread creates.
    package static var timerSlack: UInt { UInt(max(timer_slack(), 0)) }
}

extension TimerClock {
    /// The kernel's id of the clock.
    var kernelID: clockid_t {
        switch self {
        case .suspending: CLOCK_MONOTONIC
        case .continuous: CLOCK_BOOTTIME
        case .wall: CLOCK_REALTIME
        }
    }
}

extension timespec {
    /// An instant in the kernel's format. An instant after the kernel's latest one (292 years) becomes that
    /// latest one.
    init(_ instant: TimerInstant) {
        let nanoseconds = min(instant.nanoseconds, UInt64(Int64.max))
        self.init(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }
}
