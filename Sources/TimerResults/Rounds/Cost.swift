/// What the kernel billed for a row, without the threads that wait, show progress or make the load.
package struct Cost: Codable, Hashable, Sendable {
    /// Time on a processor, in nanoseconds.
    package private(set) var cpu: Int64
    /// The wake-ups of threads.
    package private(set) var wakeUps: Int64
    /// How often a thread left its processor, voluntarily or not.
    package private(set) var contextSwitches: Int64

    package init(cpu: Int64, wakeUps: Int64, contextSwitches: Int64) {
        self.cpu = cpu
        self.wakeUps = wakeUps
        self.contextSwitches = contextSwitches
    }

    private enum CodingKeys: String, CodingKey {
        case cpu = "cpu_ns"
        case wakeUps = "wakeups"
        case contextSwitches = "context_switches"
    }

    /// Adds another cost.
    package mutating func add(_ other: Cost) {
        cpu += other.cpu
        wakeUps += other.wakeUps
        contextSwitches += other.contextSwitches
    }
}
