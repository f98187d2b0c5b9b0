/// The counts and findings of a soak, as text.
struct SoakReport {
    let text: String
    let violations: [String]

    init(tally: Tally, seed: UInt64, wasInterrupted: Bool, atStart: ProcessUse, growth: Growth) {
        violations = tally.violations
        let last = growth.samples.last
        var rows = [
            ("timers scheduled", "\(tally.scheduled.value)"), ("  refused by a shutdown", "\(tally.refused.value)"),
            ("timers ended", "\(tally.ended.value)"),
        ]
        rows += tally.reasons.map { ("  \($0)", "\($1)") }
        rows += [
            ("operations of the churn", "\(tally.operations.value)"),
            ("own services made", "\(tally.servicesMade.value)"),
            ("sequences consumed", "\(tally.consumersEnded.value)"), ("ticks on the grid", "\(tally.ticks.value)"),
            ("deadlines missed", "\(tally.missed.value)"),
            ("deadlines accounted for", "\(tally.ticks.value + tally.missed.value)"),
            ("extra ticks", "\(tally.extraTicks.value)"), ("handlers begun", "\(tally.begun.value)"),
            ("handlers returned", "\(tally.returned.value)"), ("targets left", "\(tally.targets.value)"),
            ("captures left", "\(tally.captures.value)"),
            ("memory, first and last (MB)", "\(atStart.memory / 1_024), \((last?.memory ?? 0) / 1_024)"),
            ("descriptors, first and last", "\(atStart.descriptors), \(last?.descriptors ?? 0)"),
            ("threads, first and last", "\(atStart.threads), \(last?.threads ?? 0)"), ("seed", "\(seed)"),
        ]
        let width = rows.map(\.0.count).max() ?? 0
        var lines = rows.map { $0.0 + String(repeating: " ", count: width - $0.0.count + 2) + $0.1 }
        if wasInterrupted { lines.insert("ended early by Ctrl-C", at: 0) }
        lines += violations.isEmpty ? ["every promise was kept"] : ["VIOLATIONS:"] + violations.map { "  - \($0)" }
        text = lines.joined(separator: "\n")
    }
}
