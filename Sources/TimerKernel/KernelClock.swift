package import CTimerKernel

extension TimerClock {
    /// The time on this clock. Any thread may read it. On ordinary hosts this makes no system call: the kernel shares
    /// the clock with the process (vDSO on Linux, commpage on a Mac).
    public var now: TimerInstant {
        var time = timespec()
        unsafe clock_gettime(kernelID, &time)
        return TimerInstant(nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec), clock: self)
    }
}

/// Sleeps on the kernel's suspending clock.
package enum KernelClock {
    /// Sleeps for a length of monotonic time. Signals do not end the sleep.
    package static func sleep(for duration: Duration) { sleep(until: TimerClock.suspending.now.advanced(by: duration)) }

    /// Sleeps until an instant of the suspending clock. Signals do not end the sleep.
    package static func sleep(until instant: TimerInstant) {
        var time = timespec(nanoseconds: instant.nanoseconds)
        unsafe sleep_until(&time)
    }
}

extension TimerClock {
    /// The kernel's id of the clock.
    package var kernelID: clockid_t {
        switch self {
        case .suspending: clock_suspending
        case .continuous: clock_continuous
        case .wall: CLOCK_REALTIME
        }
    }

    /// Nanoseconds to which the kernel rounds deadlines (clock_getres(2)): 1 if Linux has high-resolution timers, or
    /// the milliseconds of its tick. Nil if the kernel does not say.
    package var resolution: UInt64? {
        var time = timespec()
        guard unsafe clock_getres(kernelID, &time) == 0 else { return nil }
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}

extension timespec {
    /// Nanoseconds since a clock's origin in the kernel's format. An instant after the kernel's latest one (292 years)
    /// becomes that latest one.
    package init(nanoseconds: UInt64) {
        let nanoseconds = min(nanoseconds, UInt64(Int64.max))
        self.init(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }
}
