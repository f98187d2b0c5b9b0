internal import Foundation

/// One lateness as a multiple of another, as far as it is known, and what follows from that.
///
/// The verdict is the interval against 1 and nothing else. So the words and the numbers cannot disagree.
package struct Ratio: Hashable, Sendable {
    /// 1.18 if the first is later by 18 %.
    package let estimate: Double
    /// The ends of the interval, which holds the true ratio in 99 of 100 measurements; nil if there are too few pairs
    /// for an interval.
    package let interval: ClosedRange<Double>?
    /// The part of the interval's reach, as a natural logarithm, that more laps cannot lessen.
    package let fixedReach: Double

    /// Fewer pairs have no interval: chance alone puts all of seven pairs on one side of 1 in one of 64 measurements.
    package static let fewestPairs = 8

    package enum Verdict: String, Codable, Sendable {
        case later
        case earlier
        /// The interval holds 1.
        case same
        /// There are too few pairs.
        case unknown
    }

    package init(estimate: Double, interval: ClosedRange<Double>?, fixedReach: Double = 0) {
        self.estimate = estimate
        self.interval = interval
        self.fixedReach = fixedReach
    }

    /// The ratio behind some pairs' ratios, in the order of time; nil without any. A ratio that is not a number above
    /// zero does not count.
    package init?(of ratios: [Double]) {
        let logarithms = ratios.map { log($0) }.filter(\.isFinite)
        guard let known = SignedRank.estimate(logarithms) else { return nil }
        estimate = exp(known.middle)
        let (low, high) = (exp(known.low), exp(known.high))
        interval = low > 0 && high.isFinite ? low...high : nil
        fixedReach = 0
    }

    package var verdict: Verdict {
        guard let interval else { return .unknown }
        if interval.lowerBound > 1 { return .later }
        return interval.upperBound < 1 ? .earlier : .same
    }

    /// How far the interval reaches from the estimate, as a share: 0.06 for ± 6 %. Nil without an interval.
    package var reach: Double? { interval.map { ($0.upperBound / $0.lowerBound).squareRoot() - 1 } }

    /// How far the ratio may be from 1, as a share; nil for a factor of 2 and more, which tells nothing.
    private var bound: Double? {
        let bound = interval.map { max($0.upperBound, 1 / $0.lowerBound) - 1 }
        return bound.flatMap { $0 < 1 ? $0 : nil }
    }

    /// The verdict for people: `1.18 × later (1.04 to 1.30)`, or `same within ± 6 %`.
    package var words: String {
        guard let interval else { return "too few laps" }
        switch verdict {
        case .later: return Self.words(estimate, interval, "later")
        case .earlier: return Self.words(1 / estimate, 1 / interval.upperBound...1 / interval.lowerBound, "earlier")
        case .same, .unknown:
            guard let bound else { return "too uncertain to tell" }
            return "same within ± \(NumberText.fixed((100 * bound).rounded(.up), places: 0)) %"
        }
    }

    /// The verdict, always with the ends of the interval: `same within ± 14 % (0.88 to 1.09)`.
    package var wordsWithInterval: String {
        guard let interval, verdict == .same else { return words }
        let ends = [interval.lowerBound, interval.upperBound].map { NumberText.fixed($0, places: 2) }
        return "\(words) (\(ends[0]) to \(ends[1]))"
    }

    /// The verdict in a word or three, for lack of room: `1.18 × later`.
    package var shortWords: String {
        switch verdict {
        case .later: "\(NumberText.fixed(estimate, places: 2)) × later"
        case .earlier: "\(NumberText.fixed(1 / estimate, places: 2)) × earlier"
        case .same: bound == nil ? "?" : "same"
        case .unknown: "?"
        }
    }

    private static func words(_ factor: Double, _ interval: ClosedRange<Double>, _ verdict: String) -> String {
        // The lower end must not look like 1.
        let places = (2...4)
            .first {
                NumberText.fixed(interval.lowerBound, places: $0) != NumberText.fixed(1, places: $0)
            }
        let ends = [interval.lowerBound, interval.upperBound].map { NumberText.fixed($0, places: places ?? 4) }
        return "\(NumberText.fixed(factor, places: 2)) × \(verdict) (\(ends[0]) to \(ends[1]))"
    }
}
