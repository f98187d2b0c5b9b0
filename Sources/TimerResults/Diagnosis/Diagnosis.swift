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
