#if os(Linux) && !KQUEUE
internal import CTimerKernel

/// The process's limit on real-time threads (RLIMIT_RTTIME of getrlimit(2)).
package enum RealTimeLimit {
    /// How many nanoseconds of processor time a real-time thread may use without a sleep, before the kernel sends
    /// SIGXCPU, which ends the process; nil without a limit.
    package static var nanoseconds: UInt64? {
        var microseconds: UInt64 = 0
        guard unsafe real_time_limit(&microseconds) == 1 else { return nil }
        let (nanoseconds, isUnlimited) = microseconds.multipliedReportingOverflow(by: 1_000)
        return isUnlimited ? nil : nanoseconds
    }

    /// Whether the calling thread may run for a stretch without a sleep. Half of the limit is left for handlers, and a
    /// quarter for another such stretch.
    package static func allows(stretch: UInt64) -> Bool {
        guard thread_is_real_time() == 1, let nanoseconds else { return true }
        return stretch <= nanoseconds / 4
    }
}

/// The kernel's threads that stand between a timer and a real-time thread.
package enum RealTimeKernel {
    /// Whether timers expire in threads of the kernel (PREEMPT_RT), apart from the time-outs of real-time threads: see
    /// ``ThreadTimer``.
    package static var expiresTimersInThreads: Bool { kernel_is_preempt_rt() == 1 }
}
#endif
