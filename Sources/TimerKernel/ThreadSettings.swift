internal import CTimerKernel

extension ThreadSetting {
    /// The thread's name in the kernel, of 1 to 15 bytes without NUL.
    package static func name(_ name: String) -> ThreadSetting {
        ThreadSetting(
            name: "name",
            asked: name,
            attempt: "naming a thread \"\(name)\"",
            advice: { _ in "The sandbox of the process forbids prctl(2); allow it there." },
            make: { () throws(Errno) in try ask { unsafe name.withCString { unsafe thread_name_set($0) } } }
        )
    }

    /// The processors that the thread may run on.
    package static func affinity(_ processors: Set<Int>) -> ThreadSetting {
        let mask = ProcessorMask(processors)
        let names = "the processors \(mask)"
        return ThreadSetting(
            name: "affinity",
            asked: processors.sorted().map(String.init).joined(separator: ","),
            attempt: "restricting a thread to \(names)",
            advice: { _ in "Ask for processors that exist and that the process may use: see nproc and taskset." },
            make: { () throws(Errno) in
                let before = ProcessorMask(ofThread: 0)
                try mask.set()
                // The kernel drops the processors that do not exist or are not allowed, and sets the rest.
                if ProcessorMask(ofThread: 0) == mask { return nil }
                try? before?.set()
                throw Errno(EINVAL)
            },
            loss: { thread in
                guard let present = ProcessorMask(ofThread: thread), present != mask else { return nil }
                let attempt = "keeping a thread on \(names) (it now has the processors \(present))"
                return ThreadSetup.Outcome(
                    refusal: TimerError(.systemRefused, attempt),
                    advice: "A processor was taken away, or another program moved the thread: start the service again."
                )
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
        let adviceDespiteRight =
            "The program has CAP_SYS_NICE, but not all processors: do not ask for an affinity beside this policy, and "
            + "start the program without taskset."
        let asked = "deadline:\(runtime):\(deadline):\(period) ns"
        var setting = policy(asked, "SCHED_DEADLINE", advice, adviceDespiteRight) {
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
        _ adviceDespiteRight: String =
            "The program has CAP_SYS_NICE, but its control group has no time for real-time threads (a kernel with "
            + "CONFIG_RT_GROUP_SCHED): raise cpu.rt_runtime_us of each group; or in a user namespace, raise the limit "
            + "of real-time priorities outside of it (ulimit -r).",
        _ call: @escaping @Sendable () -> CInt
    ) -> ThreadSetting {
        ThreadSetting(
            name: "policy",
            asked: asked,
            attempt: "making a thread real-time (\(name))",
            advice: { errno in
                if errno == EPERM, may_set_policies() != 0 { return adviceDespiteRight }
                return advice[errno] ?? "This kernel or its sandbox does not offer the policy."
            },
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
                switch errno {
                case ENOENT: "This kernel or container has no /dev/cpu_dma_latency; set the idle states on the host."
                // Of the file's own permissions it is EACCES.
                case EPERM: "Let the container use the device, also as root: --device /dev/cpu_dma_latency."
                default: "Give the program's user permission to write /dev/cpu_dma_latency, or run it as root."
                }
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
struct ProcessorMask: Equatable, Sendable, CustomStringConvertible {
    /// Without zeros at the end.
    private let words: [UInt]

    init(_ processors: Set<Int>) {
        var words = [UInt](repeating: 0, count: (processors.max() ?? 0) / UInt.bitWidth + 1)
        for processor in processors { words[processor / UInt.bitWidth] |= 1 << UInt(processor % UInt.bitWidth) }
        self.words = words
    }

    /// The processors of a thread, by its number, or of the calling thread by 0; nil if the thread has ended, or if the
    /// kernel does not say.
    init?(ofThread thread: Int32) {
        // With room for all processors that the kernel could have. It does not change the rest.
        var words = [UInt](repeating: 0, count: 1024)
        guard unsafe thread_affinity(thread, &words, Self.size(of: words)) >= 0 else { return nil }
        self.words = Array(words.prefix((words.lastIndex { $0 != 0 } ?? 0) + 1))
    }

    /// Lets the calling thread run on these only.
    func set() throws(Errno) {
        _ = try SystemCall.retrying { unsafe thread_affinity_set(words, Self.size(of: words)) }.get()
    }

    /// The processors' numbers, as in `0, 1`.
    var description: String {
        let processors = (0..<words.count * UInt.bitWidth)
            .filter { words[$0 / UInt.bitWidth] >> UInt($0 % UInt.bitWidth) & 1 == 1 }
        return processors.map(String.init).joined(separator: ", ")
    }

    /// In bytes.
    private static func size(of words: [UInt]) -> UInt { UInt(words.count * MemoryLayout<UInt>.size) }
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
