import Glibc

/// The probe's own times.
enum Reading {
    /// Seconds of monotonic time.
    static var seconds: Double { read(CLOCK_MONOTONIC) }

    /// The processor time of the whole process, in seconds.
    static var cpuSeconds: Double { read(CLOCK_PROCESS_CPUTIME_ID) }

    private static func read(_ clock: clockid_t) -> Double {
        var time = timespec()
        _ = unsafe clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
