internal import Foundation

/// A figure, as far as it is known.
struct Estimate: Hashable, Sendable {
    let value: Double
    /// Holds the true figure in 99 of 100 measurements, and in fewer if a few stalls make the figure; nil if the
    /// measurement was too short to say.
    let interval: ClosedRange<Double>?

    init(_ value: Double, _ interval: ClosedRange<Double>? = nil) {
        self.value = value
        self.interval = interval
    }

    /// The same seen from the other side: what is later by it is earlier by this.
    static prefix func - (estimate: Estimate) -> Estimate {
        Estimate(-estimate.value, estimate.interval.map { -$0.upperBound ... -$0.lowerBound })
    }

    /// The same without its sign.
    var magnitude: Estimate {
        Estimate(
            value.magnitude,
            interval.map { interval in
                let ends = [interval.lowerBound.magnitude, interval.upperBound.magnitude].sorted()
                return interval.contains(0) ? 0...ends[1] : ends[0]...ends[1]
            }
        )
    }

    /// The same, or another estimate if that is greater: its value, and each end of its interval. Both stay the same
    /// without a floor.
    func atLeast(_ floor: Estimate?) -> Estimate {
        guard let floor else { return self }
        let value = max(value, floor.value)
        return Estimate(
            value,
            interval.map { interval in
                let ends = floor.interval ?? interval
                return max(interval.lowerBound, ends.lowerBound)...max(interval.upperBound, ends.upperBound, value)
            }
        )
    }

    var isFinite: Bool {
        value.isFinite && (interval.map { $0.lowerBound.isFinite && $0.upperBound.isFinite } ?? true)
    }
}

/// One lateness as a multiple of another, and what follows from that.
struct Ratio: Hashable, Sendable {
    let estimate: Estimate
    let verdict: Verdict

    /// The same: the interval holds 1, and is narrow. Unclear: it is wide, or there is none.
    enum Verdict: String, Codable, Sendable { case later, earlier, same, unclear }

    /// Fewer laps or rounds have no interval: chance alone puts all of seven on one side in one of 64 measurements.
    static let fewest = 8
    /// How far a ratio may be from 1 and still count as the same.
    private static let narrow = 0.8...1.25

    /// The ratio behind the natural logarithms of some laps' ratios, in the order of time; nil without any.
    init?(ofLogarithms logarithms: [Double]) {
        guard let known = SignedRank.estimate(logarithms) else { return nil }
        let ends = (low: exp(known.low), high: exp(known.high))
        self.init(Estimate(exp(known.middle), ends.low > 0 && ends.high.isFinite ? ends.low...ends.high : nil))
    }

    /// The verdict is the interval against 1, unless there is a better test.
    init(_ estimate: Estimate, verdict: Verdict? = nil) {
        self.estimate = estimate
        self.verdict = verdict ?? Self.verdict(of: estimate.interval)
    }

    private static func verdict(of interval: ClosedRange<Double>?) -> Verdict {
        guard let interval else { return .unclear }
        if interval.lowerBound > 1 { return .later }
        if interval.upperBound < 1 { return .earlier }
        return narrow.contains(interval.lowerBound) && narrow.contains(interval.upperBound) ? .same : .unclear
    }
}
