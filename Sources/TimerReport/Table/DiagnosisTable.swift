package import TimerResults

/// A diagnosis as a person reads it: one line for each finding, its advice below, and one line of summary.
package struct DiagnosisTable: CustomStringConvertible {
    private let diagnosis: Diagnosis
    private let width: Int
    private let inColour: Bool

    /// A table for a terminal with so many columns, which may understand colour.
    package init(_ diagnosis: Diagnosis, width: Int = 80, inColour: Bool = false) {
        self.diagnosis = diagnosis
        self.width = max(width, 40)
        self.inColour = inColour
    }

    /// The whole text, without a line end at its end.
    package var description: String {
        let names = 2 + (MachineFinding.Level.allCases.map(\.rawValue.count).max() ?? 0)
        let facts = names + 2 + (diagnosis.findings.map(\.name.count).max() ?? 0)
        let findings: [String] = diagnosis.findings.flatMap { finding in
            let title = level(of: finding) + spaces(names - finding.level.rawValue.count) + finding.name
            let found = lines(finding.found, from: facts)
            let first = title + (found.first ?? "").dropFirst(names + finding.name.count)
            return [first] + found.dropFirst() + lines(finding.advice ?? "", from: names)
        }
        return (findings + lines(diagnosis.summary, from: 0)).joined(separator: "\n")
    }

    /// What limits precision stands out.
    private func level(of finding: MachineFinding) -> String {
        let (text, ink) = (finding.level.rawValue, finding.level == .limits ? Ink.strong : .faint)
        return inColour && finding.level != .good ? ink.on(text) : text
    }

    /// Wraps a text, and indents each line.
    private func lines(_ text: String, from column: Int) -> [String] {
        text.wrapped(at: max(width - column, 20)).map { spaces(column) + $0 }
    }

    private func spaces(_ count: Int) -> String { String(repeating: " ", count: count) }
}
