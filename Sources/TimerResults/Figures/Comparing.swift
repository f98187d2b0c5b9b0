/// Compares the latenesses of two rows round by round: a slow round slows both, and cancels out.
package struct Comparing: Hashable, Sendable {
    /// The percentile that is compared.
    package enum Percentile: String, Codable, CaseIterable, Sendable {
        case p50
        case p99

        var percent: Double {
            switch self {
            case .p50: 50
            case .p99: 99
            }
        }
    }

    /// The result for the first row.
    package enum Verdict: String, Codable, Sendable {
        /// Less late.
        case faster
        /// Later.
        case slower
        /// The rounds do not show a difference.
        case indistinguishable
    }

    /// The first's lateness as a multiple of the second's, for each round that has both.
    package let ratios: [Double]

    package init(ratios: [Double]) { self.ratios = ratios }

    /// Compares the corrected latenesses of two rows. A row that skips late deadlines must not look better than a row
    /// that catches up.
    package init(_ first: RowKey, with second: RowKey, in results: Results, by percentile: Percentile) {
        ratios = results.rounds.compactMap { round in
            guard let first = round[first], let second = round[second] else { return nil }
            let ratio =
                Double(first.corrected.percentile(percentile.percent))
                / Double(second.corrected.percentile(percentile.percent))
            return ratio.isFinite ? ratio : nil
        }
    }

    /// Fewer rounds never show a difference: chance alone puts all ratios of seven equal rounds on one side of 1 in
    /// one of 64 cases, and those of eight rounds in one of 128.
    package static let fewestRounds = 8

    /// The share of the samples' medians inside the interval.
    package static let confidence = 0.99

    /// The interval of the median ratio; nil if no round has both rows.
    package var interval: ClosedRange<Double>? { Bootstrap.interval(ofMedian: ratios, share: Self.confidence) }

    /// A row is faster only if the whole interval says so, and if so many rounds agree that equal rows hardly would.
    /// For few rounds the interval alone is too narrow.
    package var verdict: Verdict { interval.map(verdict(in:)) ?? .indistinguishable }

    /// The same for an interval that is already known.
    func verdict(in interval: ClosedRange<Double>) -> Verdict {
        let verdict = Self.verdict(of: interval, rounds: ratios.count)
        let against =
            switch verdict {
            case .faster: ratios.count { $0 >= 1 }
            case .slower: ratios.count { $0 <= 1 }
            case .indistinguishable: 0
            }
        let isChance = SignTest.chance(ofAtMost: against, of: ratios.count) > 1 - Self.confidence
        return isChance ? .indistinguishable : verdict
    }

    /// The verdict from the interval of a ratio alone.
    static func verdict(of interval: ClosedRange<Double>, rounds: Int) -> Verdict {
        guard rounds >= fewestRounds else { return .indistinguishable }
        if interval.upperBound < 1 { return .faster }
        return interval.lowerBound > 1 ? .slower : .indistinguishable
    }
}
