internal import Foundation

/// The comparison of two rows under one load.
package struct PairReport: Encodable, Hashable, Sendable {
    /// The part of the lateness that is compared.
    package enum Percentile: String, Codable, CaseIterable, Sendable {
        /// The middle, lap by lap.
        case p50
        /// The tail, round by round. Fewer than a hundred deadlines have no tail to speak of.
        case p95
    }

    package let first: RowKey
    package let second: RowKey
    /// The percentile of the corrected lateness that is compared.
    package let percentile: Percentile
    /// The first's lateness as a multiple of the second's.
    package let ratio: Ratio

    /// Compares two rows; nil if no lap, or no round, has both.
    package init?(_ first: RowKey, _ second: RowKey, _ percentile: Percentile, in results: Results) {
        guard let ratio = Ratio(of: results.ratios(first, second, percentile)) else { return nil }
        self.first = first
        self.second = second
        self.percentile = percentile
        self.ratio = ratio
    }

    private enum CodingKeys: String, CodingKey {
        case first
        case second
        case percentile = "figure"
        case ratio
        case low
        case high
        case verdict
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(first, forKey: .first)
        try container.encode(second, forKey: .second)
        try container.encode(percentile, forKey: .percentile)
        try container.encode(ratio.estimate.rounded(places: 6), forKey: .ratio)
        try container.encodeIfPresent(ratio.interval?.lowerBound.rounded(places: 6), forKey: .low)
        try container.encodeIfPresent(ratio.interval?.upperBound.rounded(places: 6), forKey: .high)
        try container.encode(ratio.verdict, forKey: .verdict)
    }

    /// Whether a reader would compare two rows: any two backends, a backend and a peer that does the same work, or two
    /// programs that make the same system call.
    package static func isOfInterest(_ first: RowKey, _ second: RowKey) -> Bool {
        guard first.load == second.load, first != second else { return false }
        switch first.kind {
        case .backend: return second.kind == .backend || second.rival == first.row
        case .peer: return false
        case .reference: return second.rival == first.row
        }
    }
}

extension Results {
    /// The pairs of rows that a reader would compare.
    package var pairsOfInterest: [(RowKey, RowKey)] {
        let keys = keys
        return keys.indices.flatMap { first in
            keys[(first + 1)...].filter { PairReport.isOfInterest(keys[first], $0) }.map { (keys[first], $0) }
        }
    }

    /// How well the least known pair is known by p50, as a share; nil if a pair has too few laps.
    package var widestReach: Double? {
        let reaches = pairsOfInterest.map { PairReport($0, $1, .p50, in: self)?.ratio.reach }
        return reaches.contains(nil) ? nil : reaches.compactMap(\.self).max()
    }

    /// The corrected lateness of one row as a multiple of another's: one number for each lap or round that has both. A
    /// row that skips late deadlines must not look better than a row that catches up.
    func ratios(_ first: RowKey, _ second: RowKey, _ percentile: PairReport.Percentile) -> [Double] {
        rounds.flatMap { round -> [Double] in
            guard let first = round[first], let second = round[second] else { return [] }
            switch percentile {
            case .p50:
                return zip(first.medians, second.medians)
                    .compactMap { first, second in
                        guard let first, let second else { return nil }
                        return Double(first) / Double(second)
                    }
            case .p95:
                let tails = [first.corrected, second.corrected].filter { $0.moments.count >= Round.fewestDeadlines }
                return tails.count == 2 ? [Double(tails[0].percentile(95)) / Double(tails[1].percentile(95))] : []
            }
        }
    }
}

/// Two runs compared.
extension Ratio {
    /// How much two runs of one program differ beyond what their own laps show, as a natural logarithm: 8 %.
    ///
    /// The laps of a run are paired, those of two runs are not: the host, and where the kernel puts a process, are
    /// different each time.
    static let betweenRuns = 0.08

    /// A row in a new run as a multiple of the same row in an old run, each as a multiple of the floor in its own run;
    /// nil if one of the runs lacks a row.
    package init?(of key: RowKey, _ percentile: PairReport.Percentile, since old: Results, in new: Results) {
        guard let before = Ratio(of: old.ratios(key, key.floor, percentile)),
            let after = Ratio(of: new.ratios(key, key.floor, percentile))
        else { return nil }
        let estimate = after.estimate / before.estimate
        guard let beforeReach = before.reach, let afterReach = after.reach else {
            self.init(estimate: estimate, interval: nil)
            return
        }
        // More laps now change neither the old run nor the difference of two runs.
        let fixedReach = (log(1 + beforeReach) * log(1 + beforeReach) + Self.betweenRuns * Self.betweenRuns)
            .squareRoot()
        let reach = exp((fixedReach * fixedReach + log(1 + afterReach) * log(1 + afterReach)).squareRoot())
        self.init(estimate: estimate, interval: estimate / reach...estimate * reach, fixedReach: fixedReach)
    }
}
