#if os(Linux) && !KQUEUE
internal import CTimerKernel

/// What the kernel says of a thread of this process (proc_pid_stat(5)).
struct ThreadState {
    private let letter: UInt8
    private let name: [UInt8]
    /// The processor time that the thread has used, in nanoseconds; precise to 10 ms.
    let ran: UInt64

    /// Whether the thread runs, or is ready to run and waits for a processor.
    var isRunnable: Bool { letter == UInt8(ascii: "R") }

    /// Whether the thread is stopped, as by a debugger.
    var isStopped: Bool { letter == UInt8(ascii: "T") || letter == UInt8(ascii: "t") }

    /// Reads the state of a thread by its number; nil if there is no such thread, or no /proc.
    init?(of thread: some CustomStringConvertible) {
        let opened = SystemCall.retrying { unsafe file_open("/proc/self/task/\(thread)/stat", O_RDONLY) }
        guard case .success(let file) = opened else { return nil }
        defer { close(file) }
        var text = [UInt8](repeating: 0, count: 512)
        let count = unsafe max(0, read(file, &text, text.count))
        // The other fields follow the thread's name, which is in brackets and may contain some.
        guard let bracket = text[..<count].lastIndex(of: UInt8(ascii: ")")),
            let start = text[..<bracket].firstIndex(of: UInt8(ascii: "("))
        else { return nil }
        let fields = text[(bracket + 1)..<count].split(separator: UInt8(ascii: " "))
        // The letter is the third field of all, and the times in and outside the kernel are the 14th and 15th.
        guard fields.count > 12, let letter = fields[0].first else { return nil }
        let ticks = fields[11...12].reduce(0) { $0 + (UInt64(String(decoding: $1, as: UTF8.self)) ?? 0) }
        self.letter = letter
        name = Array(text[(start + 1)..<bracket])
        ran = ticks * 10_000_000
    }

    /// Whether the thread works off queues: libdispatch names it after a quality of service.
    private var isWorker: Bool { String(decoding: name, as: UTF8.self).contains("qos") }

    /// Whether any thread of the process is stopped. O(n) for n threads.
    static var anyIsStopped: Bool { ofAllThreads.contains { $0.value.isStopped } }

    /// The threads of Dispatch that run, or are ready to run, with the processor time that each has used. O(n) for n
    /// threads of the process.
    static var runnableWorkers: [String: UInt64] {
        ofAllThreads.filter { $0.value.isRunnable && $0.value.isWorker }.mapValues(\.ran)
    }

    private static var ofAllThreads: [String: ThreadState] {
        guard let folder = unsafe opendir("/proc/self/task") else { return [:] }
        defer { unsafe closedir(folder) }
        var all: [String: ThreadState] = [:]
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            all[name] = ThreadState(of: name)
        }
        return all
    }
}

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
