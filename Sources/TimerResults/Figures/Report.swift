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

/// One row over all laps: figures are computed from it. Everything of its ``total`` is a member, too.
@dynamicMemberLookup
package struct RowReport: Hashable, Sendable {
    /// Nanoseconds between two deadlines of a timer.
    package let period: UInt64
    /// All laps together.
    package let total: Cell
    /// The lateness of all deadlines, missed ones included: a missed deadline is late until the tick that carried it.
    package let corrected: Distribution
    /// The slope of the lateness; nil if the turns had too few ticks.
    package let drift: Drift?
    /// The middle of the corrected lateness as a multiple of the floor's; nil without a floor.
    package let floor50: Ratio?
    /// The same for the tail.
    package let floor95: Ratio?

    /// Sums up a row's rounds; nil if no round has it.
    init?(_ key: RowKey, in results: Results) {
        let cells = results.rounds.compactMap { $0[key] }
        guard let first = cells.first else { return nil }
        period = results.options.period
        total = cells.dropFirst().reduce(into: first) { $0.add($1) }
        corrected = total.corrected
        drift = Drift(total.drifts).flatMap(\.rounded)
        floor50 = PairReport(key, key.floor, .p50, in: results)?.ratio
        floor95 = PairReport(key, key.floor, .p95, in: results)?.ratio
    }

    package subscript<Value>(dynamicMember path: KeyPath<Cell, Value>) -> Value { total[keyPath: path] }

    /// The share of the deadlines that got no tick of their own, 0 to 1; nil without deadlines.
    package var missedShare: Double? {
        let deadlines = Double(total.ticks) + Double(total.missed)
        return deadlines == 0 ? nil : Double(total.missed) / deadlines
    }

    /// The share of the deadlines before which the budget shortened the spin, 0 to 1; nil for a row that does not spin.
    package var cutShare: Double? {
        let deadlines = Double(total.ticks) + Double(total.missed)
        guard let spin = total.spin, deadlines > 0 else { return nil }
        // The row's service may have had deadlines that do not count.
        return min(Double(spin.cuts) / deadlines, 1)
    }

    /// Processor time per elapsed time, in percent.
    package var cpuPercent: Double? { (100 * Double(total.cost.cpu) / Double(total.elapsed)).rounded(places: 3) }
}

extension Drift {
    /// Rounded for people; nil if a part is not a number.
    fileprivate var rounded: Drift? {
        guard let ppm = ppm.rounded(places: 3), let noise = noise.rounded(places: 3),
            let endOffset = endOffset.rounded(places: 1)
        else { return nil }
        return Drift(ppm: ppm, noise: noise, endOffset: endOffset)
    }
}

extension Double {
    /// Rounded for people; nil if there is no number, because JSON has no infinity.
    func rounded(places: Int) -> Double? {
        let scale = (0..<places).reduce(1.0) { scale, _ in scale * 10 }
        // Adding zero turns a negative zero into a plain zero.
        let rounded = (self * scale).rounded() / scale + 0
        return rounded.isFinite ? rounded : nil
    }
}
