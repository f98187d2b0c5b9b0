package import TimerResults

/// A diagnosis as a person reads it: one line for each finding, its advice below, and one line of summary.
package struct DiagnosisTable: CustomStringConvertible {
    private let diagnosis: Diagnosis
    private let width: Int
    private let inColour: Bool

    /// A table for a terminal with so many columns, which may understand colour; without a width, for a file.
    package init(_ diagnosis: Diagnosis, width: Int? = nil, inColour: Bool = false) {
        self.diagnosis = diagnosis
        self.width = width ?? 80
        self.inColour = inColour
    }

    /// The whole text, without a line end at its end.
    package var description: String {
        let names = 2 + (MachineFinding.Level.allCases.map(\.rawValue.count).max() ?? 0)
        let facts = names + 2 + (diagnosis.findings.map(\.name.count).max() ?? 0)
        let findings: [String] = diagnosis.findings.flatMap { finding in
            let level = finding.level.rawValue
            let label = level + spaces(names - level.count) + finding.name
            let found = String.labelled(label + spaces(facts - label.count), finding.found, width: width, below: names)
            let advice = finding.advice.map { String.labelled(spaces(names), $0, width: width) } ?? []
            return [coloured(finding.level) + (found.first ?? "").dropFirst(level.count)] + found.dropFirst() + advice
        }
        return (findings + diagnosis.summary.wrapped(at: width)).joined(separator: "\n")
    }

    /// What limits precision stands out, and so does what differs.
    private func coloured(_ level: MachineFinding.Level) -> String {
        let ink: Ink = [.limits, .differs].contains(level) ? .strong : .faint
        return inColour && level != .good ? ink.on(level.rawValue) : level.rawValue
    }
}
