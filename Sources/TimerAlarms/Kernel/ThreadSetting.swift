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
