/// Compares two results of one question, row by row: did it get worse?
package struct Difference: Hashable, Sendable {
    /// One figure of a row, before and after.
    package struct Line: Hashable, Sendable {
        package let key: RowKey
        package let figure: Figure
        package let old: Double
        package let new: Double
        /// The new value as a multiple of the old one; nil if the old value is zero.
        package let ratio: Double?
        /// The interval of the ratio of the rounds' medians; nil if the figure is not compared round by round.
        package let interval: ClosedRange<Double>?
        /// Nil without an interval.
        package let verdict: Comparing.Verdict?
    }

    /// The figures of every row that both results have, in the order of the new table.
    package let lines: [Line]
    /// Why no verdict is possible; nil if verdicts are possible.
    package let problem: String?
    /// The rows that only one of the results has, one line each.
    package let unmatched: [String]

    package init(old: Report, new: Report) {
        lines = new.rows.flatMap { row in
            guard let former = old.rows.first(where: { $0.key == row.key }) else { return [Line]() }
            return Figure.all.compactMap { Line($0, of: former, in: old.results, of: row, in: new.results) }
        }
        let fewest = min(old.results.rounds.count, new.results.rounds.count)
        problem =
            fewest < Comparing.fewestRounds
            ? "Fewer than \(Comparing.fewestRounds) rounds cannot show a difference, and these are \(fewest)." : nil
        let (former, latter) = (old.rows.map(\.key), new.rows.map(\.key))
        unmatched =
            former.filter { !latter.contains($0) }.map { "\($0) is in the old results only" }
            + latter.filter { !former.contains($0) }.map { "\($0) is in the new results only" }
    }
}

extension Difference.Line {
    fileprivate init?(_ figure: Figure, of former: RowReport, in old: Results, of row: RowReport, in new: Results) {
        guard figure.comparison != .none, let before = figure(former), let after = figure(row) else { return nil }
        key = row.key
        self.figure = figure
        self.old = before
        self.new = after
        ratio = (after / before).rounded(places: 3)
        let (formerRounds, latterRounds) = (old.values(of: figure, row.key), new.values(of: figure, row.key))
        interval = Bootstrap.interval(ofMedian: latterRounds, over: formerRounds, share: Comparing.confidence)
        verdict = interval.map { Comparing.verdict(of: $0, rounds: min(formerRounds.count, latterRounds.count)) }
    }
}

extension Results {
    /// A figure of a row in each round; empty if the figure is not compared round by round.
    fileprivate func values(of figure: Figure, _ key: RowKey) -> [Double] {
        // The floor is always 1 × itself.
        guard figure.comparison == .roundByRound, figure.unit != .timesFloor || key != key.floor else { return [] }
        return rounds.indices.compactMap { RowReport(key, in: round($0)).flatMap { figure($0) } }
    }
}
