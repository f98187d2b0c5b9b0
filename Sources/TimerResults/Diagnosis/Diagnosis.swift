/// What limits the precision of timers on a machine, judged by its facts alone.
package struct Diagnosis: Hashable, Sendable {
    /// One finding for each property, in the same order for each machine.
    package let findings: [MachineFinding]

    package init(of facts: MachineFacts) {
        let verdicts: [(String, Verdict?)] = [
            ("clock source", facts.sourceVerdict), ("clock reading", facts.readingVerdict),
            ("timer resolution", facts.resolutionVerdict), ("virtual machine", facts.guestVerdict),
            ("stolen time", facts.stolenVerdict), ("other programs", facts.othersVerdict),
            ("frequency governor", facts.governorVerdict), ("idle states", facts.idleVerdict),
            ("idle latency limit", facts.idleLimitVerdict), ("hyper-threading", facts.siblingsVerdict),
            ("preemption", facts.preemptionVerdict), ("timer slack", facts.slackVerdict),
            ("slice", facts.sliceVerdict), ("real-time throttling", facts.throttlingVerdict),
            ("isolated processors", facts.isolationVerdict), ("processors", facts.processorsVerdict),
            ("processor quota", facts.quotaVerdict), ("real-time priority", facts.realTimeVerdict),
            ("memory locking", facts.lockedMemoryVerdict), ("time zone", facts.zone?.verdict),
        ]
        findings = verdicts.map { MachineFinding($0, $1) }
    }

    /// The number of findings that limit precision, of those that differ, and of those that the kernel does not show.
    package var summary: String {
        func count(_ level: MachineFinding.Level) -> Int { findings.count { $0.level == level } }
        let (limits, unknown) = (count(.limits), count(.unknown))
        let differing = findings.filter { $0.level == .differs }.map { " The \($0.name) differs." }.joined()
        let hidden = unknown == 0 ? "" : unknown == 1 ? " 1 is unknown." : " \(unknown) are unknown."
        return "\(limits) of \(findings.count) \(limits == 1 ? "limits" : "limit") precision here.\(differing)\(hidden)"
    }
}

/// One property of a machine, and what it means for timers.
package struct MachineFinding: Hashable, Sendable {
    /// What a property means for precision: nothing to improve; usual, though a machine that is set up for real-time
    /// work is better; timers are later because of it; two parts of the system differ, and timers are on time; not
    /// shown by the kernel.
    package enum Level: String, CaseIterable, Sendable { case good, usual, limits, differs, unknown }

    /// The property.
    package let name: String
    package let level: Level
    /// What the machine shows, in a few words.
    package let found: String
    /// What to do about it, in one sentence; nil if there is nothing to do, or nothing known.
    package let advice: String?

    fileprivate init(_ name: String, _ verdict: Verdict?) {
        self.name = name
        (level, found, advice) = verdict ?? (.unknown, "not shown here", nil)
    }
}

/// A finding without its name.
typealias Verdict = (level: MachineFinding.Level, found: String, advice: String?)
