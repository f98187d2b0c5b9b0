/// What the results say: a line for each case, and one for each pair that a reader would compare.
package struct Report: Hashable, Sendable {
    /// What it is made from.
    package let results: Results
    /// One for each case, in the order of the table.
    package let rows: [RowReport]
    /// One for each pair and figure.
    package let pairs: [PairReport]

    package init(_ results: Results) {
        self.results = results
        let cases = results.cases
        rows = cases.map { RowReport($0, in: results) }
        pairs = cases.indices.flatMap { first in
            cases[(first + 1)...]
                .filter { PairReport.isOfInterest(cases[first], $0) }
                .flatMap { second in
                    Comparing.Figure.allCases.compactMap { PairReport(cases[first], second, $0, in: results) }
                }
        }
    }

    /// What must never be, one line for each case and round where it was.
    package var faults: [String] {
        results.rounds.enumerated()
            .flatMap { number, round in
                round.cells.compactMap { cell in
                    cell.fault.map { "\(cell.case), round \(number + 1): \($0)" }
                }
            }
    }
}
