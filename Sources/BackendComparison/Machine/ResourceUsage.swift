// The build order decides which module declares `timeval` and `timespec`, so all of them are imported.
internal import CTimerKernel
internal import Glibc
internal import TimerKernel

/// The kernel's account of the process, or of one of its threads.
struct ResourceUsage: Hashable, Sendable {
    /// Time on a processor, in user mode and in the kernel.
    let cpuNanoseconds: Int64
    /// How often a thread gave up its processor to wait. One wake-up follows each time.
    let voluntarySwitches: Int64
    /// How often the kernel took a thread off its processor.
    let involuntarySwitches: Int64

    /// All threads, ended threads included; nil if the kernel does not say.
    static var ofAllThreads: ResourceUsage? { ResourceUsage(of: 0) }

    /// All threads except the calling thread, ended threads included; nil if the kernel does not say.
    static var ofOtherThreads: ResourceUsage? {
        var own = ResourceUsage(of: 1)
        // A switch of this thread between the two readings would be in one of them only.
        while let before = own {
            guard let all = ofAllThreads, let after = ResourceUsage(of: 1) else { return nil }
            if after.switches == before.switches { return all - after }
            own = after
        }
        return nil
    }

    private var switches: Int64 { voluntarySwitches + involuntarySwitches }

    static let zero = ResourceUsage(cpuNanoseconds: 0, voluntarySwitches: 0, involuntarySwitches: 0)

    /// The account between two readings.
    static func - (later: ResourceUsage, earlier: ResourceUsage) -> ResourceUsage {
        ResourceUsage(
            cpuNanoseconds: later.cpuNanoseconds - earlier.cpuNanoseconds,
            voluntarySwitches: later.voluntarySwitches - earlier.voluntarySwitches,
            involuntarySwitches: later.involuntarySwitches - earlier.involuntarySwitches
        )
    }
}

extension ResourceUsage {
    /// The account of 0, RUSAGE_SELF, or 1, RUSAGE_THREAD. Glibc shows the second only to GNU sources. Swift sees both
    /// as a type that `getrusage` does not take.
    private init?(of who: CInt) {
        var usage = rusage()
        guard unsafe getrusage(who, &usage) == 0 else { return nil }
        self.init(
            cpuNanoseconds: Self.nanoseconds(usage.ru_utime) + Self.nanoseconds(usage.ru_stime),
            voluntarySwitches: Int64(usage.ru_nvcsw),
            involuntarySwitches: Int64(usage.ru_nivcsw)
        )
    }

    private static func nanoseconds(_ time: timeval) -> Int64 {
        Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_usec) * 1000
    }
}

/// How long the calling thread ran (CLOCK_THREAD_CPUTIME_ID), and how long it waited for a processor (schedstat).
/// The kernel brings the running time in schedstat up to date only now and then.
struct ThreadAccount: Hashable, Sendable {
    /// The thread. After its end, a later thread may have the same number, and a smaller account.
    let thread: UInt
    /// Nanoseconds on a processor since the thread began.
    let running: UInt64
    /// Nanoseconds that the thread was ready to run and waited for a processor.
    let waiting: UInt64

    /// The account up to now; nil if the kernel keeps none. Takes some 20 µs.
    static var current: ThreadAccount? {
        guard let waiting = ProcFile.text("/proc/thread-self/schedstat").flatMap({ RunDelay.nanoseconds(in: $0) }),
            let running = Thread.processorTime
        else { return nil }
        return ThreadAccount(thread: pthread_self(), running: running, waiting: waiting)
    }
}

/// How long threads of this process were ready to run and waited for a processor.
struct RunDelay: Hashable, Sendable {
    /// Nanoseconds, by the threads' numbers.
    private let ofThreads: [String: UInt64]

    /// The delays by the threads' numbers, in nanoseconds.
    init(_ ofThreads: [String: UInt64]) { self.ofThreads = ofThreads }

    /// Nanoseconds since an earlier reading, of the threads that live at this one. A number whose delay is smaller now
    /// is that of a new thread.
    func since(_ earlier: RunDelay) -> UInt64 {
        ofThreads.reduce(0) { sum, thread in
            let before = earlier.ofThreads[thread.key] ?? 0
            return sum &+ (thread.value >= before ? thread.value - before : thread.value)
        }
    }

    /// That of all threads that live now, except the calling thread; nil if the kernel does not say.
    static var ofOtherThreads: RunDelay? {
        // The calling thread runs, so a kernel that counts has counted it.
        guard let own = ThreadList.callingThread,
            ProcFile.text("/proc/self/task/\(own)/schedstat").flatMap({ nanoseconds(in: $0) }) != nil,
            let folder = unsafe opendir("/proc/self/task")
        else { return nil }
        defer { unsafe closedir(folder) }
        var ofThreads: [String: UInt64] = [:]
        while let entry = unsafe readdir(folder) {
            let name = unsafe String(characters: entry.pointee.d_name)
            // A thread may have ended since.
            guard name != own, let text = ProcFile.text("/proc/self/task/\(name)/schedstat") else { continue }
            ofThreads[name] = nanoseconds(in: text) ?? 0
        }
        return RunDelay(ofThreads)
    }

    /// Reads the text of a schedstat file: the second of three numbers (the kernel's "Scheduler Statistics"). Nil for
    /// three zeros: so writes a kernel that does not count, and a thread that never ran.
    static func nanoseconds(in text: String) -> UInt64? {
        let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { UInt64($0) }
        return numbers.count == 3 && numbers != [0, 0, 0] ? numbers[1] : nil
    }
}
