/// What limits the precision of timers on a machine, judged by its facts alone.
package struct Diagnosis: Hashable, Sendable {
    /// One finding for each name, in the order of the names.
    package let findings: [MachineFinding]

    package init(of facts: MachineFacts) {
        findings = MachineFinding.Name.allCases.map { name in
            switch name {
            case .clockSource: facts.clockSourceFinding
            case .clockReading: facts.clockReadingFinding
            case .resolution: facts.resolutionFinding
            case .virtualMachine: facts.virtualMachineFinding
            case .stolenTime: facts.stolenTimeFinding
            case .governor: facts.governorFinding
            case .idleStates: facts.idleStatesFinding
            case .idleControl: facts.idleControlFinding
            case .siblings: facts.siblingsFinding
            case .preemption: facts.preemptionFinding
            case .timerSlack: facts.timerSlackFinding
            case .slice: facts.sliceFinding
            case .throttling: facts.throttlingFinding
            case .isolation: facts.isolationFinding
            case .processors: facts.processorsFinding
            case .quota: facts.quotaFinding
            case .realTime: facts.realTimeFinding
            case .lockedMemory: facts.lockedMemoryFinding
            }
        }
    }

    /// The number of findings that limit precision, and of those that the kernel does not show.
    package var summary: String {
        func count(_ level: MachineFinding.Level) -> Int { findings.count { $0.level == level } }
        let (limits, unknown) = (count(.limits), count(.unknown))
        let hidden = unknown == 0 ? "" : unknown == 1 ? " 1 is unknown." : " \(unknown) are unknown."
        return "\(limits) of \(findings.count) \(limits == 1 ? "limits" : "limit") precision here.\(hidden)"
    }
}

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
        case slice
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
