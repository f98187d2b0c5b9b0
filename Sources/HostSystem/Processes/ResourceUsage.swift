// The build order decides which module declares `timeval` and `timespec`, so all of them are imported.
internal import CTimerKernel
internal import Glibc

#if Libevent
internal import CLibevent
#endif

/// The kernel's account of the process, or of one of its threads.
package struct ResourceUsage: Hashable, Sendable {
    /// Time on a processor, in user mode and in the kernel.
    package let cpuNanoseconds: Int64
    /// How often a thread gave up its processor to wait. One wake-up follows each time.
    package let voluntarySwitches: Int64
    /// How often the kernel took a thread off its processor.
    package let involuntarySwitches: Int64

    init(cpuNanoseconds: Int64, voluntarySwitches: Int64, involuntarySwitches: Int64) {
        self.cpuNanoseconds = cpuNanoseconds
        self.voluntarySwitches = voluntarySwitches
        self.involuntarySwitches = involuntarySwitches
    }

    /// All threads, ended threads included.
    package static var ofAllThreads: ResourceUsage { ResourceUsage(of: wholeProcess) }

    /// All threads except the calling thread, ended threads included.
    package static var ofOtherThreads: ResourceUsage {
        var own = ResourceUsage(of: callingThread)
        // A switch of this thread between the two readings would be in one of them only.
        while true {
            let (all, after) = (ofAllThreads, ResourceUsage(of: callingThread))
            if after.switches == own.switches { return all - after }
            own = after
        }
    }

    private var switches: Int64 { voluntarySwitches + involuntarySwitches }

    /// The kernel's RUSAGE_SELF and RUSAGE_THREAD. Glibc shows the second only to GNU sources. Swift sees both as a
    /// type that `getrusage` does not take.
    private static let wholeProcess: CInt = 0
    private static let callingThread: CInt = 1

    private init(of who: CInt) {
        var usage = rusage()
        unsafe getrusage(who, &usage)
        self.init(usage)
    }

    init(_ usage: rusage) {
        self.init(
            cpuNanoseconds: Self.nanoseconds(usage.ru_utime) + Self.nanoseconds(usage.ru_stime),
            voluntarySwitches: Int64(usage.ru_nvcsw),
            involuntarySwitches: Int64(usage.ru_nivcsw)
        )
    }

    private static func nanoseconds(_ time: timeval) -> Int64 {
        Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_usec) * 1000
    }

    package static let zero = ResourceUsage(cpuNanoseconds: 0, voluntarySwitches: 0, involuntarySwitches: 0)

    package static func + (left: ResourceUsage, right: ResourceUsage) -> ResourceUsage { left.combined(with: right, +) }

    /// The account between two readings.
    package static func - (later: ResourceUsage, earlier: ResourceUsage) -> ResourceUsage {
        later.combined(with: earlier, -)
    }

    private func combined(with other: ResourceUsage, _ combine: (Int64, Int64) -> Int64) -> ResourceUsage {
        ResourceUsage(
            cpuNanoseconds: combine(cpuNanoseconds, other.cpuNanoseconds),
            voluntarySwitches: combine(voluntarySwitches, other.voluntarySwitches),
            involuntarySwitches: combine(involuntarySwitches, other.involuntarySwitches)
        )
    }
}

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
