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
        /// The same with an interval, for a multiple of the floor; nil for any other figure.
        package let known: Ratio?
    }

    /// The figures of every row that both results have, in the order of the new table.
    package let lines: [Line]
    /// The rows that only one of the results has, one line each.
    package let unmatched: [String]

    package init(old: Report, new: Report) {
        lines = new.rows.flatMap { row in
            guard let former = old.rows.first(where: { $0.key == row.key }) else { return [Line]() }
            return Figure.all.compactMap { Line($0, of: former, in: old.results, of: row, in: new.results) }
        }
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
        // The floor is always 1 × itself.
        if case .byFloor(let percentile) = figure.comparison, row.key != row.key.floor {
            known = Ratio(of: row.key, percentile, since: old, in: new)
        } else {
            known = nil
        }
    }
}
