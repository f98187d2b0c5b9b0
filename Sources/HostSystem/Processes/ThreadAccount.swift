// The build order decides which module declares `timespec`, so both are imported.
internal import CLinuxTimers
internal import Glibc

/// How long the calling thread ran, and how long it waited for a processor.
///
/// The waiting is the second number of /proc/thread-self/schedstat (the kernel's documentation, "Scheduler
/// Statistics"). The first number would be the running, but the kernel brings it up to date only now and then while a
/// thread runs. So that is the reading of CLOCK_THREAD_CPUTIME_ID.
package struct ThreadAccount: Hashable, Sendable {
    /// The thread. After its end, a later thread may have the same number, and a smaller account.
    package let thread: UInt
    /// Nanoseconds on a processor since the thread began.
    package let running: UInt64
    /// Nanoseconds that the thread was ready to run and waited for a processor.
    package let waiting: UInt64

    package init(thread: UInt, running: UInt64, waiting: UInt64) {
        self.thread = thread
        self.running = running
        self.waiting = waiting
    }

    /// The account up to now; nil if the kernel keeps none. Takes some 20 µs.
    package static var current: ThreadAccount? {
        guard let text = ProcFile.text("/proc/thread-self/schedstat") else { return nil }
        let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { UInt64($0) }
        var time = timespec()
        guard numbers.count == 3, unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0 else { return nil }
        let running = UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
        return ThreadAccount(thread: pthread_self(), running: running, waiting: numbers[1])
    }
}
