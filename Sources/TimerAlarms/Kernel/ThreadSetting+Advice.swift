internal import Glibc

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
