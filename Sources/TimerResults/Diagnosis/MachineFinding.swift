/// One property of a machine, and what it means for timers.
package struct MachineFinding: Hashable, Sendable {
    /// The property.
    package enum Name: String, CaseIterable, Sendable {
        case clockSource = "clock source"
        case clockReading = "clock reading"
        case resolution = "timer resolution"
        case virtualMachine = "virtual machine"
        case stolenTime = "stolen time"
        case governor = "frequency governor"
        case idleStates = "idle states"
        case idleControl = "idle latency limit"
        case siblings = "hyper-threading"
        case preemption
        case timerSlack = "timer slack"
        case throttling = "real-time throttling"
        case isolation = "isolated processors"
        case processors
        case quota = "processor quota"
        case realTime = "real-time priority"
        case lockedMemory = "memory locking"
    }

    /// What a property means for precision.
    package enum Level: String, CaseIterable, Sendable {
        /// There is nothing to improve.
        case good
        /// Most machines are like this. One that is set up for real-time work is better.
        case usual
        /// Timers are later because of it.
        case limits
        /// The kernel does not show it.
        case unknown
    }

    package let name: Name
    package let level: Level
    /// What the machine shows, in a few words.
    package let found: String
    /// What to do about it, in one sentence; nil if there is nothing to do.
    package let advice: String?

    static func good(_ name: Name, _ found: String) -> MachineFinding {
        MachineFinding(name: name, level: .good, found: found, advice: nil)
    }

    static func usual(_ name: Name, _ found: String, _ advice: String) -> MachineFinding {
        MachineFinding(name: name, level: .usual, found: found, advice: advice)
    }

    static func limits(_ name: Name, _ found: String, _ advice: String) -> MachineFinding {
        MachineFinding(name: name, level: .limits, found: found, advice: advice)
    }

    static func unknown(_ name: Name, _ found: String = "not shown here") -> MachineFinding {
        MachineFinding(name: name, level: .unknown, found: found, advice: nil)
    }
}
