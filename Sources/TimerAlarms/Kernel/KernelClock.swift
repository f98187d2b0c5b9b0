internal import CLinuxTimers
internal import Glibc
package import TimerCore

/// Reading a clock of the kernel and sleeping on it.
package enum KernelClock {
    /// The time on a clock, from the vDSO: no system call on ordinary hosts.
    package static func now(_ clock: TimerClock) -> TimerInstant {
        var time = timespec()
        unsafe clock_gettime(clock.kernelID, &time)
        return TimerInstant(nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec), clock: clock)
    }

    /// Sleeps until an instant has come, through any number of signals.
    package static func sleep(until deadline: TimerInstant) {
        var time = timespec(deadline)
        while unsafe clock_nanosleep(deadline.clock.kernelID, TIMER_ABSTIME, &time, nil) == EINTR {}
    }

    /// Sleeps for a length of monotonic time.
    package static func sleep(for duration: Duration) { sleep(until: now(.suspending).advanced(by: duration)) }

    /// Asks the kernel to be late by no more than this in sleeps of the calling thread (50,000 ns unless asked). It
    /// does not matter to timerfd. No privilege is needed.
    package static func setTimerSlack(nanoseconds: UInt) {
        _ = timer_slack_set(nanoseconds)
    }

    /// The calling thread's timer slack, in nanoseconds. Threads and programs that it creates take it over as their
    /// default.
    package static var timerSlack: UInt { UInt(max(timer_slack(), 0)) }
}

extension TimerClock {
    /// The kernel's name of the clock.
    var kernelID: clockid_t {
        switch self {
        case .suspending: CLOCK_MONOTONIC
        case .continuous: CLOCK_BOOTTIME
        case .wall: CLOCK_REALTIME
        }
    }
}

extension timespec {
    /// An instant as the kernel takes it; one past the kernel's own end of time (292 years) is that end.
    init(_ instant: TimerInstant) {
        let nanoseconds = min(instant.nanoseconds, UInt64(Int64.max))
        self.init(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }
}
