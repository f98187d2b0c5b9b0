internal import TimerResults

/// The comparisons of pairs, one line for each pair.
struct PairLines: Sendable {
    /// The comparisons of two rows.
    private struct Pair {
        let first: RowKey
        let second: RowKey
        var reports: [PairReport]
    }

    private let pairs: [Pair]
    private let rounds: Int

    init(_ report: Report) {
        pairs = report.pairs.reduce(into: []) { pairs, report in
            if pairs.last?.first == report.first, pairs.last?.second == report.second {
                pairs[pairs.count - 1].reports.append(report)
            } else {
                pairs.append(Pair(first: report.first, second: report.second, reports: [report]))
            }
        }
        rounds = report.results.rounds.count
    }

    /// The meaning of the numbers; nil without pairs.
    var heading: String? {
        guard !pairs.isEmpty else { return nil }
        let share = NumberText.fixed(100 * Comparing.confidence, places: 0)
        let few =
            rounds < Comparing.fewestRounds
            ? "\nFewer than \(Comparing.fewestRounds) rounds cannot show a difference, and these are \(rounds)." : ""
        return "Pairs: the first's lateness (corrected) as a multiple of the second's, with its \(share) % interval."
            + few
    }

    /// Aligned lines under the heading; empty without pairs.
    func lines(inColour: Bool) -> [String] {
        guard let heading else { return [] }
        let columns = [TextColumns.Column()] + Comparing.Percentile.allCases.map { _ in TextColumns.Column() }
        let cells = pairs.map { pair in
            [Inked("\(pair.first) : \(pair.second)")] + Comparing.Percentile.allCases.map { cell($0, of: pair) }
        }
        return [heading] + TextColumns(columns, cells, inColour: inColour).lines
    }

    /// The names and comparisons of each pair.
    var cells: [[String]] {
        pairs.map { pair in
            ["\(pair.first)", "\(pair.second)"] + Comparing.Percentile.allCases.map { cell($0, of: pair).text }
        }
    }

    private func cell(_ percentile: Comparing.Percentile, of pair: Pair) -> Inked {
        guard let report = pair.reports.first(where: { $0.percentile == percentile }) else { return Inked("") }
        let numbers = [report.ratio, report.low, report.high].map { NumberText.ratio($0) }
        // All verdicts are as long as the longest, to align the numbers.
        let space = Comparing.Verdict.indistinguishable.rawValue.count - report.verdict.rawValue.count
        let verdict = report.verdict.rawValue + String(repeating: " ", count: space)
        return Inked(
            "\(percentile.rawValue) \(verdict) × \(numbers[0]) (\(numbers[1]) to \(numbers[2]))",
            report.verdict == .indistinguishable ? .faint : .strong
        )
    }
}
