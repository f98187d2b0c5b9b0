/// What a machine shows about its precision, and what it allows this process. A fact that the kernel does not show is
/// nil.
package struct MachineFacts: Hashable, Sendable {
    /// The machine itself.
    package var host: Host

    // MARK: The clock

    /// The clock sources that the kernel could use.
    package var clockSources: [String] = []
    /// Nanoseconds to which the kernel rounds deadlines.
    package var resolution: UInt64?

    // MARK: The processors

    /// The share of time that other guests of the host took, in percent, since the machine was started.
    package var stolenSinceStart: Double?
    /// The same during half a second of work.
    package var stolenNow: Double?
    /// The driver of the idle states, or `none`.
    package var idleDriver: String?
    /// The governor of the idle states.
    package var idleGovernor: String?
    /// The name of the deepest idle state.
    package var deepestIdle: String?
    /// Nanoseconds that a processor takes to leave this state, as the driver says.
    package var idleExit: UInt64?
    /// Whether idle processors keep running because of a boot option.
    package var pollsWhenIdle = false
    /// Whether this process may use /dev/cpu_dma_latency; nil if there is no such device.
    package var mayLimitIdle: Bool?
    /// Whether two threads share a core.
    package var sharesCores: Bool?

    // MARK: The kernel

    /// The kernel's model of preemption as its version names it, as `PREEMPT_DYNAMIC`; empty if it names no model.
    package var preemption: String?
    /// Nanoseconds by which an ordinary thread's sleep may end later.
    package var timerSlack: UInt64?
    /// The share of time that real-time threads may use, in percent.
    package var realTimeShare: Double?
    /// The processors that get no work of other processes, as `2-3`; empty if there are no such processors.
    package var isolated: String?
    /// The processors without a regular tick, in the same form.
    package var tickless: String?

    // MARK: The process

    /// Whether the kernel shows the control groups of the process, and so the limits of its processor time.
    package var showsGroups = false
    /// Whether the system let a thread have a real-time priority.
    package var allowsRealTime: Bool?
    /// The limit of real-time priorities.
    package var realTimeLimit: UInt64?
    /// Whether the process has CAP_SYS_NICE.
    package var maySetPriorities: Bool?
    /// The limit of locked memory in bytes, and `UInt64.max` for no limit.
    package var lockedMemory: UInt64?
    /// Whether the process has CAP_IPC_LOCK.
    package var mayLockMemory: Bool?

    /// The facts of a kernel that shows nothing but its name.
    package init(host: Host) { self.host = host }
}
