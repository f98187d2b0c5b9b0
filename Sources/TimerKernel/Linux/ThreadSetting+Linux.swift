#if os(Linux) && !KQUEUE
internal import CTimerKernel

extension ThreadSetting {
    /// The processors that the thread may run on.
    package static func affinity(_ processors: Set<Int>) -> ThreadSetting {
        let (mask, names) = (ProcessorMask(processors), processors.sorted().map(String.init))
        return ThreadSetting(
            name: "affinity",
            asked: names.joined(separator: ","),
            attempt: "restricting a thread to the processors \(names.joined(separator: ", "))",
            advice: { _ in "Ask for processors that exist and that the process may use: see nproc and taskset." },
            make: { () throws(Errno) in
                let before = ProcessorMask.ofThread
                try mask.set()
                // The kernel drops the processors that do not exist or are not allowed, and sets the rest.
                if ProcessorMask.ofThread.begins(with: mask) { return nil }
                try? before.set()
                throw Errno(EINVAL)
            },
            restore: { try? mask.set() },
            pinsThread: true
        )
    }

    /// How late the kernel may end a sleep that takes slack.
    package static func timerSlack(_ nanoseconds: UInt64) -> ThreadSetting {
        ThreadSetting(
            name: "timer slack",
            asked: "\(nanoseconds) ns",
            attempt: "setting a thread's timer slack to \(nanoseconds) ns",
            advice: { _ in "The sandbox of the process forbids prctl(2); allow it there." },
            make: { () throws(Errno) in try ask { timer_slack_set(UInt(nanoseconds)) } },
            restore: { timer_slack_set(UInt(nanoseconds)) }
        )
    }

    /// How long a thread with an ordinary policy runs before the kernel looks for another one. With a shorter slice it
    /// gets the processor sooner after a wake-up, and not more of it: a request with an earlier virtual deadline (the
    /// kernel's Documentation/scheduler/sched-eevdf.rst). Threads that the thread creates later have the kernel's own.
    package static func slice(microseconds: UInt64) -> ThreadSetting {
        ThreadSetting(
            name: "slice",
            asked: "\(microseconds) µs",
            attempt: "giving a thread a slice of \(microseconds) µs",
            advice: { errno in
                errno == EOPNOTSUPP
                    ? "Linux has slices since 6.12, for the ordinary policy and SCHED_BATCH."
                    : "The sandbox of the process forbids sched_setattr(2) or sched_getattr(2); allow both there."
            },
            make: { () throws(Errno) in
                var attributes = thread_attributes()
                _ = try ask { unsafe thread_attributes_get(&attributes) }
                // For SCHED_DEADLINE the same field is the runtime.
                guard [SCHED_OTHER, SCHED_BATCH].contains(CInt(attributes.policy)) else { throw Errno(EOPNOTSUPP) }
                attributes.runtime = microseconds * 1_000
                _ = try ask { thread_attributes_set(attributes) }
                // An older kernel takes the call and ignores the field.
                _ = try ask { unsafe thread_attributes_get(&attributes) }
                if attributes.runtime != microseconds * 1_000 { throw Errno(EOPNOTSUPP) }
                return nil
            }
        )
    }

    /// The real-time policies of sched(7). Threads that the thread creates later get the ordinary policy
    /// (SCHED_FLAG_RESET_ON_FORK of sched_setattr(2)).
    package static func fifo(_ priority: Int) -> ThreadSetting {
        policy("fifo:\(priority)", "SCHED_FIFO, priority \(priority)") {
            thread_policy_set(CInt(SCHED_FIFO), UInt32(priority), 0, 0, 0)
        }
    }

    package static func roundRobin(_ priority: Int) -> ThreadSetting {
        policy("rr:\(priority)", "SCHED_RR, priority \(priority)") {
            thread_policy_set(CInt(SCHED_RR), UInt32(priority), 0, 0, 0)
        }
    }

    /// In nanoseconds.
    package static func deadline(runtime: UInt64, deadline: UInt64, period: UInt64) -> ThreadSetting {
        let advice = [
            EBUSY: "The kernel cannot guarantee that much time: ask for less runtime in a period.",
            EPERM: "Give the program CAP_SYS_NICE, and do not ask for an affinity beside this policy.",
            EINVAL: "Ask for at least 1024 ns of runtime, no more than the deadline, and for a period of at least "
                + "100 µs.",
        ]
        var setting = policy("deadline:\(runtime):\(deadline):\(period) ns", "SCHED_DEADLINE", advice) {
            thread_policy_set(CInt(SCHED_DEADLINE), 0, runtime, deadline, period)
        }
        setting.runtime = Runtime(runtime, in: period)
        return setting
    }

    private static func policy(
        _ asked: String,
        _ name: String,
        _ advice: [Int32: String] = [
            EPERM: "Raise the limit of real-time priorities (ulimit -r), or give the program CAP_SYS_NICE; a container "
                + "needs --cap-add SYS_NICE."
        ],
        _ call: @escaping @Sendable () -> CInt
    ) -> ThreadSetting {
        ThreadSetting(
            name: "policy",
            asked: asked,
            attempt: "making a thread real-time (\(name))",
            advice: { advice[$0] ?? "This kernel or its sandbox does not offer the policy." },
            make: { () throws(Errno) in try ask(call) }
        )
    }

    /// All memory of the process stays in RAM.
    package static let lockedMemory = ThreadSetting(
        name: "locked memory",
        asked: "yes",
        attempt: "locking the process's memory",
        advice: { _ in "Raise the limit of locked memory (ulimit -l), or give the program CAP_IPC_LOCK." },
        make: { () throws(Errno) in try ask { memory_lock() } },
        isOfProcess: true
    )

    /// The longest time that a processor may take to leave an idle state, while the file is held.
    package static func idleLatency(microseconds: Int32) -> ThreadSetting {
        ThreadSetting(
            name: "idle latency",
            asked: "\(microseconds) µs",
            attempt: "limiting the idle latency to \(microseconds) µs",
            advice: { errno in
                errno == ENOENT
                    ? "This kernel or container has no /dev/cpu_dma_latency; set the idle states on the host."
                    : "Give the program's user permission to write /dev/cpu_dma_latency, or run it as root."
            },
            make: { () throws(Errno) in try IdleLatencyFile(microseconds) },
            isOfProcess: true
        )
    }

    private static func ask(_ call: () -> CInt) throws(Errno) -> (any Sendable)? {
        _ = try SystemCall.retrying(call).get()
        return nil
    }
}

/// Processors, as sched_setaffinity(2) takes them.
struct ProcessorMask: Sendable {
    private var words: [UInt]

    private init(words: [UInt]) { self.words = words }

    init(_ processors: Set<Int>) {
        words = [UInt](repeating: 0, count: (processors.max() ?? 0) / UInt.bitWidth + 1)
        for processor in processors { words[processor / UInt.bitWidth] |= 1 << UInt(processor % UInt.bitWidth) }
    }

    /// The calling thread's processors.
    static var ofThread: ProcessorMask {
        // With room for all that the kernel could have. It leaves what is beyond its own mask as it is.
        var mask = ProcessorMask(words: [UInt](repeating: 0, count: 1024))
        _ = unsafe thread_affinity(&mask.words, mask.size)
        return mask
    }

    /// Lets the calling thread run on these only.
    func set() throws(Errno) { _ = try SystemCall.retrying { unsafe thread_affinity_set(words, size) }.get() }

    /// Whether it has the same processors, as far as the other one goes.
    func begins(with other: ProcessorMask) -> Bool { words.starts(with: other.words) }

    /// In bytes.
    private var size: UInt { UInt(words.count * MemoryLayout<UInt>.size) }
}

/// The file /dev/cpu_dma_latency, held open. While it is open, the kernel uses only idle states that a processor leaves
/// within the latency that was written to it (the kernel's Documentation/power/pm_qos_interface.rst).
final class IdleLatencyFile: Sendable {
    private let descriptor: CInt

    /// Opens the file and writes a latency in microseconds.
    init(_ microseconds: Int32) throws(Errno) {
        let path = "/dev/cpu_dma_latency"
        let descriptor = try SystemCall.retrying { unsafe file_open(path, O_WRONLY) }.get()
        self.descriptor = descriptor
        var value = microseconds
        _ = try SystemCall.retrying { unsafe write(descriptor, &value, MemoryLayout<Int32>.size) }.get()
    }

    deinit { close(descriptor) }
}
#endif
