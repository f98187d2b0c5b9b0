internal import Glibc

/// The process's limit on real-time threads (RLIMIT_RTTIME of getrlimit(2)).
package enum RealTimeLimit {
    /// How many nanoseconds of processor time a real-time thread may use without a sleep, before the kernel sends
    /// SIGXCPU, which ends the process; nil without a limit.
    package static var nanoseconds: UInt64? {
        var limit = rlimit()
        // RLIMIT_RTTIME, which Glibc does not show to Swift. In microseconds.
        guard unsafe getrlimit(__rlimit_resource_t(15), &limit) == 0 else { return nil }
        let (nanoseconds, isUnlimited) = UInt64(limit.rlim_cur).multipliedReportingOverflow(by: 1_000)
        return isUnlimited ? nil : nanoseconds
    }
}
