/// Two results of the same question held against each other, case by case: did it get worse?
package struct Difference: Hashable, Sendable {
    /// One figure of a case, before and after.
    package struct Line: Hashable, Sendable {
        package let `case`: Case
        package let figure: Figure
        package let old: Double
        package let new: Double
        /// The new as a multiple of the old; nil where the old is zero.
        package let ratio: Double?
        /// Where the ratio of the medians of the rounds may well lie; nil for what is no figure of rounds.
        package let interval: ClosedRange<Double>?
        /// What follows; nil where there is no interval.
        package let verdict: Comparing.Verdict?
    }

    /// The figures of every case that is in both, in the order of the new table.
    package let lines: [Line]
    /// Why no verdict is possible; nil where it is.
    package let caution: String?
    /// The cases that are in one only, each with where.
    package let unmatched: [String]

    /// Compares.
    package init(old: Report, new: Report) {
        lines = new.rows.flatMap { row in
            guard let former = old.rows.first(where: { $0.case == row.case }) else { return [Line]() }
            return Self.figures.compactMap { name in
                guard let figure = Figure.named(name), let before = figure(former), let after = figure(row) else {
                    return nil
                }
                return Line(row.case, figure, before, after, old: old.results, new: new.results)
            }
        }
        let fewest = min(old.results.rounds.count, new.results.rounds.count)
        caution =
            fewest < Comparing.fewestRounds
            ? "Fewer than \(Comparing.fewestRounds) rounds tell nothing apart, and these are \(fewest)." : nil
        let (former, latter) = (old.rows.map(\.case), new.rows.map(\.case))
        unmatched =
            former.filter { !latter.contains($0) }.map { "\($0) is in the old results only" }
            + latter.filter { !former.contains($0) }.map { "\($0) is in the new results only" }
    }

    /// What is compared: precision, with and without what the host has to do with it, and price.
    private static let figures = ["lateness.p50", "lateness.p99", "corrected.p99", "floor.p50", "missed", "cpu"]
}

extension Difference.Line {
    fileprivate init(_ case: Case, _ figure: Figure, _ before: Double, _ after: Double, old: Results, new: Results) {
        self.case = `case`
        self.figure = figure
        self.old = before
        self.new = after
        ratio = (after / before).rounded(places: 3)
        let (formerRounds, latterRounds) = (old.rounds(of: `case`, figure), new.rounds(of: `case`, figure))
        interval = Bootstrap.interval(
            ofMedian: latterRounds,
            over: formerRounds,
            share: Comparing.confidence
        )
        verdict = interval.map {
            Comparing.verdict(of: $0, rounds: min(formerRounds.count, latterRounds.count))
        }
    }
}

extension Results {
    /// A figure of a case in each round; empty for what is no figure of rounds.
    fileprivate func rounds(of case: Case, _ figure: Figure) -> [Double] {
        let floor = Case(row: Results.floor, kind: .reference, load: `case`.load)
        switch figure.name {
        case "lateness.p50": return rounds.compactMap { $0[`case`].map { Double($0.lateness.percentile(50)) } }
        case "lateness.p99": return rounds.compactMap { $0[`case`].map { Double($0.lateness.percentile(99)) } }
        case "corrected.p99": return rounds.compactMap { $0[`case`].map { Double($0.corrected.percentile(99)) } }
        case "floor.p50" where `case` != floor: return Comparing(`case`, with: floor, in: self, by: .p50).ratios
        default: return []
        }
    }
}
