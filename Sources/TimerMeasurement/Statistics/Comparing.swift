/// The latenesses of two cases held against each other, round by round: what slows a whole round down is in both and falls out.
package struct Comparing: Hashable, Sendable {
    /// The figure that is compared.
    package enum Figure: String, Codable, CaseIterable, Sendable {
        case p50
        case p99

        /// In percent.
        var percentile: Double {
            switch self {
            case .p50: 50
            case .p99: 99
            }
        }
    }

    /// What can be said of the first beside the second.
    package enum Verdict: String, Codable, Sendable {
        /// Less late.
        case faster
        /// Later.
        case slower
        /// The rounds do not tell which.
        case indistinguishable
    }

    /// The first's lateness as a multiple of the second's, for each round that has both.
    package let ratios: [Double]

    package init(ratios: [Double]) { self.ratios = ratios }

    /// Compares the latenesses of two cases: of all deadlines, also of those that got no tick of their own. One that leaves
    /// out what is late must not look better than one that makes up for it.
    package init(_ first: Case, with second: Case, in results: Results, by figure: Figure) {
        ratios = results.rounds.compactMap { round in
            guard let first = round[first], let second = round[second] else { return nil }
            let ratio =
                Double(first.corrected.percentile(figure.percentile))
                / Double(second.corrected.percentile(figure.percentile))
            return ratio.isFinite ? ratio : nil
        }
    }

    /// With fewer rounds nothing is told apart: chance alone puts the ratios of seven equal rounds all above or all below
    /// 1 in one of 64 cases, and those of eight in one of 128.
    package static let fewestRounds = 8

    /// The share of the samples' medians that lie in the interval.
    package static let confidence = 0.99

    /// Where the median ratio may well lie; nil where no round has both.
    package var interval: ClosedRange<Double>? { Bootstrap.interval(ofMedian: ratios, share: Self.confidence) }

    /// What follows: one of two is faster only if the whole interval says so, and if so many of the rounds do that equal
    /// ones hardly would. For so few rounds an interval by itself is somewhat too narrow.
    package var verdict: Verdict { interval.map(verdict(in:)) ?? .indistinguishable }

    /// The same, of the interval that was computed before.
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

    /// What follows from the interval of a ratio alone.
    static func verdict(of interval: ClosedRange<Double>, rounds: Int) -> Verdict {
        guard rounds >= fewestRounds else { return .indistinguishable }
        if interval.upperBound < 1 { return .faster }
        return interval.lowerBound > 1 ? .slower : .indistinguishable
    }
}
