package import TimerResults

/// A diagnosis as a person reads it: one line for each finding, its advice below, and one line of summary.
package struct DiagnosisTable: CustomStringConvertible {
    private let diagnosis: Diagnosis
    private let width: Int
    private let inColour: Bool

    /// - Parameters:
    ///   - diagnosis: the diagnosis.
    ///   - width: the columns of the terminal.
    ///   - inColour: whether the terminal understands colour.
    package init(_ diagnosis: Diagnosis, width: Int = 80, inColour: Bool = false) {
        self.diagnosis = diagnosis
        self.width = max(width, 40)
        self.inColour = inColour
    }

    /// The whole text, without a line end at its end.
    package var description: String {
        let facts = diagnosis.findings.map { lines($0.found, from: Self.foundColumn) }
        let cells = zip(diagnosis.findings, facts)
            .map { finding, fact in
                [
                    Inked(finding.level.rawValue, finding.level.ink), Inked(finding.name.rawValue),
                    Inked(String((fact.first ?? "").drop { $0 == " " })),
                ]
            }
        let table = TextColumns([TextColumns.Column](repeating: .init(), count: 3), cells, inColour: inColour)
        let text = diagnosis.findings.indices.flatMap { index in
            [table.lines[index]] + facts[index].dropFirst()
                + lines(diagnosis.findings[index].advice ?? "", from: Self.nameColumn)
        }
        return (text + lines(diagnosis.summary, from: 0)).joined(separator: "\n")
    }

    /// Advice stands under the name.
    private static let nameColumn = 2 + (MachineFinding.Level.allCases.map(\.rawValue.count).max() ?? 0)
    private static let foundColumn = nameColumn + 2 + (MachineFinding.Name.allCases.map(\.rawValue.count).max() ?? 0)

    /// Wraps a text, and indents each line.
    private func lines(_ text: String, from column: Int) -> [String] {
        text.wrapped(at: max(width - column, 20)).map { String(repeating: " ", count: column) + $0 }
    }
}

extension MachineFinding.Level {
    /// What limits precision stands out.
    fileprivate var ink: Ink? {
        switch self {
        case .good: nil
        case .limits: .strong
        case .usual, .unknown: .faint
        }
    }
}
