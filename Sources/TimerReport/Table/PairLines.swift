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

    init(_ report: Report) {
        pairs = report.pairs.reduce(into: []) { pairs, report in
            if pairs.last?.first == report.first, pairs.last?.second == report.second {
                pairs[pairs.count - 1].reports.append(report)
            } else {
                pairs.append(Pair(first: report.first, second: report.second, reports: [report]))
            }
        }
    }

    /// The meaning of the numbers; nil without pairs.
    var heading: String? {
        guard !pairs.isEmpty else { return nil }
        let share = NumberText.fixed(100 * SignedRank.confidence, places: 0)
        return "Pairs: the first's lateness (corrected) against the second's, with its \(share) % interval."
    }

    /// Aligned lines under the heading; empty without pairs.
    func lines(inColour: Bool) -> [String] {
        guard let heading else { return [] }
        let columns = Array(repeating: TextColumns.Column(), count: 1 + PairReport.Percentile.allCases.count)
        let cells = pairs.map { pair in
            [Inked("\(pair.first) : \(pair.second)")] + PairReport.Percentile.allCases.map { cell($0, of: pair) }
        }
        return [heading] + TextColumns(columns, cells, inColour: inColour).lines
    }

    /// The names and comparisons of each pair.
    var cells: [[String]] {
        pairs.map { pair in
            ["\(pair.first)", "\(pair.second)"] + PairReport.Percentile.allCases.map { cell($0, of: pair).text }
        }
    }

    private func cell(_ percentile: PairReport.Percentile, of pair: Pair) -> Inked {
        guard let ratio = pair.reports.first(where: { $0.percentile == percentile })?.ratio else { return Inked("") }
        let isDifferent = ratio.verdict == .later || ratio.verdict == .earlier
        return Inked("\(percentile.rawValue) \(ratio.words)", isDifferent ? .strong : .faint)
    }
}
