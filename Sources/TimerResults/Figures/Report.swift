/// The summary of results: one line for each row, and one for each pair of rows that a reader would compare.
package struct Report: Hashable, Sendable {
    package let results: Results
    /// One for each measured row, in the order of the table.
    package let rows: [RowReport]
    /// One for each pair and percentile.
    package let pairs: [PairReport]

    package init(_ results: Results) {
        self.results = results
        let keys = results.keys
        rows = keys.compactMap { RowReport($0, in: results) }
        pairs = results.pairsOfInterest.flatMap { first, second in
            PairReport.Percentile.allCases.compactMap { PairReport(first, second, $0, in: results) }
        }
    }

    /// The rows whose budget shortened more than a hundredth of their spins, one line each.
    package var shortenedSpins: [String] {
        rows.compactMap { row in
            guard let share = row.cutShare, share > 0.01 else { return nil }
            let percent = NumberText.fixed(100 * share, places: 0)
            return "\(row.key): the CPU budget shortened the spin before \(percent) % of the deadlines (--cpu-budget)"
        }
    }

    /// Every broken promise of the library, one line for each row and round.
    package var problems: [String] {
        results.rounds.enumerated()
            .flatMap { number, round in
                round.cells.compactMap { cell in
                    cell.problem.map { "\(cell.key), round \(number + 1): \($0)" }
                }
            }
    }
}
