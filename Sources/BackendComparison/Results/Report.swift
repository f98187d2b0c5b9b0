internal import Foundation

/// What results mean: the figures of each row, and how it compares with its base.
package struct Report: Sendable {
    private(set) var results: Results
    /// One for each measured row, in the order of the table.
    let rows: [RowReport]

    package init(_ results: Results) {
        self.results = results
        let rounds = results.rows.map { Rounds($0.turns) }
        rows = zip(results.rows, rounds).filter { !$0.0.turns.isEmpty }
            .map { row, own in
                let base = results.base(of: row.key)
                let place = base.flatMap { base in results.rows.firstIndex { $0.key == base } }
                return RowReport(row, own, base: place.map { (results.rows[$0], rounds[$0]) }, in: results)
            }
    }

    /// The same report with other judgements.
    func judged(_ judgements: [Judgement]) -> Report {
        var report = self
        report.results.judgements = judgements
        return report
    }

    /// The same report, held against other needs, and the files that they name. Throws `Failure` if that is impossible.
    package func judged(by needs: [Need], earlier: [String: Report]) throws(Failure) -> Report {
        var judgements: [Judgement] = []
        for need in needs { judgements.append(try Judgement(need, of: self, earlier: earlier)) }
        return judged(judgements)
    }

    /// The exit code for the worst judgement.
    package var exitCode: Int32 { results.judgements.map(\.outcome).max()?.exitCode ?? 0 }

    /// A row by its name and load; nil if it was not measured.
    func row(_ name: String, load: String) -> RowReport? {
        rows.first { $0.key.row == name && $0.key.load == load }
    }

    /// The loads in the order of the rows.
    var loads: [String] { rows.map(\.key.load).unique }

    /// Whether nothing was measured.
    package var isEmpty: Bool { rows.isEmpty }

    /// Why the first of the rows that were given up was it; nil if none was.
    package var failure: Failure? {
        let failures = results.rows.lazy.compactMap { row in row.failure.map { "\(row.key) failed: \($0)" } }
        return failures.first.map { Failure.failed($0) }
    }

    /// Every broken promise of the library, one line each.
    package var problems: [String] { rows.compactMap { row in row.row.problem.map { "\(row.key): \($0)" } } }
}

/// The figures of one row. A figure that takes more deadlines than the row has is nil. A row that keeps no grid has
/// neither percentiles nor missed deadlines, since they depend on how long one looks: it has its drift, and its price.
struct RowReport: Sendable {
    let row: MeasuredRow
    let figures: [Figure: Estimate]
    /// Nanoseconds within which half of the deadlines were served. It is the one that ``p50Ratio`` is about: the base's
    /// middle lap, times that ratio.
    var p50: Estimate? { figures[.p50] }
    var p90: Estimate? { figures[.p90] }
    var p99: Estimate? { figures[.p99] }
    var p999: Estimate? { figures[.p999] }
    /// The greatest lateness, in nanoseconds.
    let worst: Double?
    /// Percent of the deadlines.
    var missed: Estimate? { figures[.missed] }
    /// Percent of one processor.
    var cpu: Estimate? { figures[.cpu] }
    /// Per tick.
    var wakeUps: Estimate? { figures[.wakeUps] }
    var switches: Estimate? { figures[.switches] }
    /// Percent of the time in which the row's threads waited for a processor; nil if the kernel does not show it.
    let runDelay: Double?
    /// The row that this one is compared with; nil for the base itself, and for a row without a grid.
    let base: RowKey?
    /// The lateness as a multiple of the base's: in the middle, lap by lap, and in the tail. Nil without a base.
    let p50Ratio: Ratio?
    let p99Ratio: Ratio?
    /// How many nanoseconds the row is later than its base in the middle, and in the tail; negative if it is earlier.
    /// Nil without a base.
    let difference: Estimate?
    let tailDifference: Estimate?
    /// The middle as a multiple of the bare loop's, by which two runs are compared; nil if it was not measured.
    let bareRatio: Ratio?

    var key: RowKey { row.key }
    var drift: Estimate? { figures[.drift] }
    /// Whether the row keeps no grid, and it is known how it becomes later and later: no sleep ends early.
    var runsAway: Bool { key.kind == .relative && drift != nil }
    var deadlines: UInt64 { row.turns.reduce(0) { $0 + $1.lateness.count } }

    fileprivate init(
        _ row: MeasuredRow,
        _ rounds: Rounds,
        base: (row: MeasuredRow, rounds: Rounds)?,
        in results: Results
    ) {
        self.row = row
        let keepsGrid = row.key.kind != .relative
        let delays = row.turns.compactMap { turn in turn.runDelay.map { (Double($0), Double(turn.elapsed)) } }
        runDelay = delays.isEmpty ? nil : 100 * delays.reduce(0) { $0 + $1.0 } / delays.reduce(0) { $0 + $1.1 }
        let base = keepsGrid ? base : nil
        self.base = base?.row.key
        let ratio = base.flatMap { results.ratio(of: row, to: $0.row) }
        p50Ratio = ratio
        let shared = base.map { base in
            // After an early end, some rows have a turn more than others.
            let laps = min(row.turns.count, base.row.turns.count)
            let isEven = laps == row.turns.count && laps == base.row.turns.count
            return isEven
                ? (own: rounds, base: base.rounds)
                : (own: Rounds(Array(row.turns.prefix(laps))), base: Rounds(Array(base.row.turns.prefix(laps))))
        }
        let tailRatio = shared.flatMap { $0.own.ratio(to: $0.base, 99) }
        p99Ratio = tailRatio
        let bare = keepsGrid ? results.row(RowKey.bare, load: row.key.load) : nil
        bareRatio = bare.flatMap { results.ratio(of: row, to: $0) }
        let own = keepsGrid ? results.middle(of: row) : nil
        let middle = base.flatMap { results.middle(of: $0.row) }
        let product = middle.flatMap { middle in ratio.map { middle.value * $0.estimate.value } }
        let p50 = own.map { own in
            let value = product ?? own.value
            return Estimate(value, own.interval.map { min($0.lowerBound, value)...max($0.upperBound, value) })
        }
        // The other percentiles are of the pooled deadlines, in buckets, and may lie a little below the middle.
        func percentile(_ percent: Double) -> Estimate? { keepsGrid ? rounds.percentile(percent) : nil }
        let p90 = percentile(90)?.atLeast(p50)
        let p99 = percentile(99)?.atLeast(p90 ?? p50)
        let p999 = percentile(99.9)?.atLeast(p99 ?? p90 ?? p50)
        let known =
            [
                .p50: p50, .p90: p90, .p99: p99, .p999: p999, .missed: keepsGrid ? rounds.missed : nil,
                .drift: row.drift?.estimate, .cpu: rounds.cpu, .wakeUps: rounds.wakeUps, .switches: rounds.switches,
            ] as [Figure: Estimate?]
        figures = known.compactMapValues(\.self)
        difference = Self.difference(p50, ratio, of: middle)
        tailDifference = Self.difference(p99, tailRatio, of: shared?.base.percentile(99))
        worst = keepsGrid ? Estimate(row.lateness.percentile(100)).atLeast(p999 ?? p99 ?? p90 ?? p50).value : nil
    }

    /// How much later a figure is than the base's, of which it is a multiple. Neither the base nor the multiple is
    /// exactly known, so the interval reaches over every product of both intervals.
    private static func difference(_ figure: Estimate?, _ ratio: Ratio?, of base: Estimate?) -> Estimate? {
        guard let figure, let ratio = ratio?.estimate else { return nil }
        let value = figure.value - figure.value / ratio.value
        guard let multiples = ratio.interval, let bases = base?.interval else { return Estimate(value) }
        let ends: [Double] = [bases.lowerBound, bases.upperBound]
            .flatMap { base in [base * (multiples.lowerBound - 1), base * (multiples.upperBound - 1)] }
        let (low, high) = ends.reduce((value, value)) { (min($0.0, $1), max($0.1, $1)) }
        return Estimate(value, low...high)
    }
}

extension Results {
    /// The row that another is compared with: the default backend's under the same load, or without it the first row
    /// that was measured and keeps a grid. Nil for the base itself.
    func base(of key: RowKey) -> RowKey? {
        let measured = rows.filter { !$0.turns.isEmpty }.map(\.key)
        let same = measured.filter { $0.load == key.load && $0.kind != .relative }
        let base = same.first { $0.row == RowKey.base } ?? same.first
        return base == key ? nil : base
    }

    /// The middle of a row's lateness: the middle of its turns' medians, in the laps that count.
    fileprivate func middle(of row: MeasuredRow) -> Estimate? {
        Ratio(ofLogarithms: zip(row.turns, countingLaps(of: row)).filter(\.1).map { $0.0.logarithm })?.estimate
    }

    /// The lateness of one row as a multiple of another's, lap by lap, in the laps that count.
    func ratio(of row: MeasuredRow, to base: MeasuredRow) -> Ratio? {
        let pairs = zip(zip(row.turns, base.turns), countingLaps(of: row)).filter(\.1).map(\.0)
        return Ratio(ofLogarithms: pairs.map { $0.logarithm - $1.logarithm })
    }

    private func countingLaps(of row: MeasuredRow) -> [Bool] {
        let counting = countingLaps(under: row.key.load)
        // A file may lack what the machine did.
        return counting.count < row.turns.count ? row.turns.map { _ in true } : counting
    }
}

extension Sequence where Element: Equatable {
    /// The elements without repetitions.
    var unique: [Element] { reduce(into: []) { if !$0.contains($1) { $0.append($1) } } }
}

extension Turn {
    /// The natural logarithm of the middle. A coarse clock can show a lateness of 0.
    fileprivate var logarithm: Double { log(Double(max(median, 1))) }
}
