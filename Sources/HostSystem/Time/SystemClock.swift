internal import Glibc

/// A clock of the kernel.
package enum SystemClock: Sendable {
    /// CLOCK_MONOTONIC.
    case monotonic
    /// CLOCK_BOOTTIME.
    case boottime
    /// CLOCK_REALTIME.
    case realtime

    var id: clockid_t {
        switch self {
        case .monotonic: CLOCK_MONOTONIC
        case .boottime: CLOCK_BOOTTIME
        case .realtime: CLOCK_REALTIME
        }
    }

    /// The time in nanoseconds since the clock's origin. Comes from the vDSO: no system call on ordinary hosts.
    package var nanoseconds: UInt64 {
        var time = timespec()
        unsafe clock_gettime(id, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// Nanoseconds to which the kernel rounds deadlines: 1 with high-resolution timers, and otherwise some milliseconds
    /// (clock_getres(2)); nil if it does not say.
    package var resolution: UInt64? {
        var time = timespec()
        guard unsafe clock_getres(id, &time) == 0 else { return nil }
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// Sleeps until the clock shows so many nanoseconds. Signals do not end the sleep.
    package func sleep(until nanoseconds: UInt64) {
        var time = timespec(nanoseconds: nanoseconds)
        while unsafe clock_nanosleep(id, TIMER_ABSTIME, &time, nil) == EINTR {}
    }

    /// Sleeps for some monotonic time.
    package static func sleep(for duration: Duration) {
        let (seconds, attoseconds) = max(duration, .zero).components
        let nanoseconds = UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
        monotonic.sleep(until: monotonic.nanoseconds + nanoseconds)
    }
}

extension timespec {
    /// Nanoseconds as the kernel takes them. The kernel's time ends after 292 years.
    init(nanoseconds: UInt64) {
        let nanoseconds = min(nanoseconds, UInt64(Int64.max))
        self.init(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }
}
