internal import CLinuxTimers

/// How late the kernel may end a sleep of the calling thread.
///
/// It does not matter to a timerfd. Setting it needs no privilege. Threads and programs that the thread creates take
/// it over as their default.
package enum TimerSlack {
    /// In nanoseconds; 50,000 unless a thread sets another value. Setting 0 restores the thread's default.
    package static var nanoseconds: UInt {
        get { UInt(max(timer_slack(), 0)) }
        set { _ = timer_slack_set(newValue) }
    }

    /// The same; nil if the kernel does not say. A real-time thread has none.
    package static var shown: UInt64? { UInt64(exactly: timer_slack()) }
}
