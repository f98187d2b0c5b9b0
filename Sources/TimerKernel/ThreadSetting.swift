internal import CLinuxTimers
internal import Glibc

/// One property of a thread, or of its process, that the kernel is asked for.
package enum ThreadSetting: Hashable, Sendable {
    /// The processors that the thread may run on.
    case affinity(Set<Int>)
    /// How late the kernel may end a sleep that takes slack, in nanoseconds.
    case timerSlack(UInt64)
    /// The scheduling policy.
    case policy(Policy)
    /// All memory of the process stays in RAM.
    case lockedMemory
    /// The longest time that a processor may take to leave an idle state, in microseconds, while this is held.
    case idleLatency(Int32)

    /// The real-time policies of sched(7).
    package enum Policy: Hashable, Sendable {
        case fifo(priority: Int32)
        case roundRobin(priority: Int32)
        /// In nanoseconds.
        case deadline(runtime: UInt64, deadline: UInt64, period: UInt64)
    }

    /// Whether the whole process or machine has this property, so that it is set without the thread.
    package var isOfProcess: Bool {
        switch self {
        case .lockedMemory, .idleLatency: true
        case .affinity, .timerSlack, .policy: false
        }
    }
}

/// The system calls of the settings. Each returns the kernel's refusal, or nil.
extension ThreadSetting {
    /// Makes the setting, for the calling thread or for the process.
    func make() -> Errno? {
        switch self {
        case .affinity: setAffinity()
        case .timerSlack(let nanoseconds): Self.refusal { timer_slack_set(UInt(nanoseconds)) }
        case .policy(let policy): policy.make()
        case .lockedMemory: Self.refusal { memory_lock() }
        case .idleLatency: preconditionFailure("a file keeps the latency")
        }
    }

    /// The kernel's mask of the processors; nil for other settings.
    var mask: [UInt]? {
        guard case .affinity(let processors) = self else { return nil }
        var words = [UInt](repeating: 0, count: (processors.max() ?? 0) / UInt.bitWidth + 1)
        for processor in processors { words[processor / UInt.bitWidth] |= 1 << UInt(processor % UInt.bitWidth) }
        return words
    }

    private func setAffinity() -> Errno? {
        let (before, wanted) = (Self.present, mask ?? [])
        if let refusal = Self.set(wanted) { return refusal }
        // The kernel drops the processors that do not exist or are not allowed, and sets the rest.
        if Self.present.starts(with: wanted) { return nil }
        _ = Self.set(before)
        return Errno(EINVAL)
    }

    private static func set(_ mask: [UInt]) -> Errno? {
        refusal { unsafe thread_affinity_set(mask, UInt(mask.count * MemoryLayout<UInt>.size)) }
    }

    /// The calling thread's mask of processors, with room for all that the kernel could have.
    private static var present: [UInt] {
        var mask = [UInt](repeating: 0, count: 1024)
        _ = unsafe thread_affinity(&mask, UInt(mask.count * MemoryLayout<UInt>.size))
        return mask
    }

    fileprivate static func refusal(_ call: () -> CInt) -> Errno? {
        if case .failure(let errno) = SystemCall.retrying(call) { errno } else { nil }
    }
}

extension ThreadSetting.Policy {
    /// Threads that the thread creates later get the ordinary policy (SCHED_FLAG_RESET_ON_FORK of
    /// sched_setattr(2)).
    fileprivate func make() -> Errno? {
        ThreadSetting.refusal {
            switch self {
            case .fifo(let priority): thread_policy_set(CInt(SCHED_FIFO), UInt32(priority), 0, 0, 0)
            case .roundRobin(let priority): thread_policy_set(CInt(SCHED_RR), UInt32(priority), 0, 0, 0)
            case .deadline(let runtime, let deadline, let period):
                thread_policy_set(CInt(SCHED_DEADLINE), 0, runtime, deadline, period)
            }
        }
    }
}

/// What is said about a setting that the kernel refused.
extension ThreadSetting {
    /// The beginning of an error's message.
    var attempt: String {
        switch self {
        case .affinity(let processors):
            "restricting a thread to the processors \(processors.sorted().map(String.init).joined(separator: ", "))"
        case .timerSlack(let nanoseconds): "setting a thread's timer slack to \(nanoseconds) ns"
        case .policy(.fifo(let priority)): "making a thread real-time (SCHED_FIFO, priority \(priority))"
        case .policy(.roundRobin(let priority)): "making a thread real-time (SCHED_RR, priority \(priority))"
        case .policy(.deadline): "making a thread real-time (SCHED_DEADLINE)"
        case .lockedMemory: "locking the process's memory"
        case .idleLatency(let microseconds): "limiting the idle latency to \(microseconds) µs"
        }
    }

    /// One sentence on what would help.
    func advice(on errno: Int32) -> String {
        switch (self, errno) {
        case (.affinity, _): "Ask for processors that exist and that the process may use: see nproc and taskset."
        case (.timerSlack, _): "The sandbox of the process forbids prctl(2); allow it there."
        case (.policy(.deadline), EBUSY):
            "The kernel cannot guarantee that much time: ask for less runtime in a period."
        case (.policy(.deadline), EPERM):
            "Give the program CAP_SYS_NICE, and do not ask for an affinity beside this policy."
        case (.policy(.deadline), EINVAL):
            "Ask for at least 1024 ns of runtime, no more than the deadline, and for a period of at least 100 µs."
        case (.policy, EPERM):
            "Raise the limit of real-time priorities (ulimit -r), or give the program CAP_SYS_NICE; a container needs "
                + "--cap-add SYS_NICE."
        case (.policy, _): "This kernel or its sandbox does not offer the policy."
        case (.lockedMemory, _): "Raise the limit of locked memory (ulimit -l), or give the program CAP_IPC_LOCK."
        case (.idleLatency, ENOENT):
            "This kernel or container has no /dev/cpu_dma_latency; set the idle states on the host."
        case (.idleLatency, _): "Give the program's user permission to write /dev/cpu_dma_latency, or run it as root."
        }
    }
}

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

/// The file /dev/cpu_dma_latency, held open. While it is open, the kernel uses only idle states that a processor leaves
/// within the latency that was written to it (the kernel's Documentation/power/pm_qos_interface.rst).
final class IdleLatencyFile: Sendable {
    private let descriptor: CInt

    private init(descriptor: CInt) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Opens the file and writes a latency in microseconds. Returns nil and the refusal if that fails.
    static func open(_ microseconds: Int32) -> (IdleLatencyFile?, Errno?) {
        switch SystemCall.retrying({ unsafe Glibc.open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC) }) {
        case .failure(let errno): return (nil, errno)
        case .success(let descriptor):
            let file = IdleLatencyFile(descriptor: descriptor)
            var value = microseconds
            let written = SystemCall.retrying { unsafe write(descriptor, &value, MemoryLayout<Int32>.size) }
            if case .failure(let errno) = written { return (nil, errno) }
            return (file, nil)
        }
    }
}
