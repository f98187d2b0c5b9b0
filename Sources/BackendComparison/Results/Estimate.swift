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

/// The slope of lateness over time: whether ticks keep to their grid in the long run, and how well that is known.
///
/// It comes from one long stretch of a row, whose first quarter does not count: a processor takes some 30 ms of light
/// work to choose its idle states, and ticks become later by several µs meanwhile. One late tick must not bend the
/// slope. So the ticks are cut into 16 blocks of equal number (fewer for few ticks), and a line is fitted by least
/// squares to the blocks' medians.
///
/// **The noise is so great that a slope exceeds it only if the line explains more than four fifths of the medians'
/// variance.** Ticks are not independent: a machine keeps a level of lateness for 5 to 500 ms, so a stretch may have a
/// single change of level. A line explains at most three quarters of the variance of any two levels, whenever they
/// change. A standard error assumes that the distances from the line are independent, or that their correlation is
/// known; 16 of them do not tell it. In a few blocks chance alone can look like a line, so their noise is at least that
/// of Student's distribution for 99 of 100 stretches. It shrinks with longer stretches.
struct StretchDrift: Codable, Hashable, Sendable {
    /// Parts per million: µs of additional lateness per second.
    let ppm: Double
    /// The true drift is within so much of ``ppm``, in 99 of 100 stretches.
    let noise: Double

    private enum CodingKeys: String, CodingKey {
        case ppm
        case noise = "noise_ppm"
    }

    private static let blocks = 16
    private static let ticksPerBlock = 4
    /// A line must explain more than this share of the variance.
    private static let share = 0.8
    /// The two-sided 1 % points of Student's distribution, from one degree of freedom. Beyond them the share decides.
    private static let deviations = [63.657, 9.925, 5.841, 4.604]
    /// The deadlines of a stretch that has enough ticks, even if some deadlines are missed.
    static let deadlines: UInt64 = 32

    init(ppm: Double, noise: Double) {
        self.ppm = ppm
        self.noise = noise
    }

    /// The drift of one stretch, from its ticks in the order of their deadlines; nil for fewer than 15 ticks, which
    /// make fewer than three blocks.
    init?(_ stretch: [Point]) {
        let points = stretch.suffix((3 * stretch.count + 3) / 4)
        let count = min(Self.blocks, points.count / Self.ticksPerBlock)
        guard count >= 3 else { return nil }
        var medians = LineSums()
        for block in 0..<count {
            let start = points.startIndex + points.count * block / count
            let end = points.startIndex + points.count * (block + 1) / count
            let times = points[start..<end].map { Double($0.time) }
            let latenesses = points[start..<end].map { Double($0.lateness) }
            // Twice a median is a whole number.
            medians.add(time: Int128(2 * (times.median ?? 0)), lateness: Int128(2 * (latenesses.median ?? 0)))
        }
        // Many timers with one tick each may all tick at one time.
        guard let line = medians.line else { return nil }
        ppm = line.slope * 1_000_000
        // The residuals have two degrees of freedom fewer than there are points.
        let freedom = count - 2
        let ofShare = Self.share / (1 - Self.share) * Double(freedom)
        let ofChance =
            freedom <= Self.deviations.count ? Self.deviations[freedom - 1] * Self.deviations[freedom - 1] : 0
        noise = (max(ofShare, ofChance) * line.variance).squareRoot() * 1_000_000
        guard isSound else { return nil }
    }

    /// The drift as a figure.
    var estimate: Estimate { Estimate(ppm, ppm - noise...ppm + noise) }

    /// Whether a measurement can have found this drift, and a page can draw it.
    var isSound: Bool { ppm.magnitude < 1e15 && (0..<1e15).contains(noise) }
}

/// One tick's place in time.
struct Point: Hashable, Sendable {
    /// Nanoseconds from the stretch's first deadline to the tick's deadline.
    let time: UInt64
    /// Nanoseconds from the tick's deadline to the tick.
    let lateness: Int64

    init(time: UInt64, lateness: Int64) {
        self.time = time
        self.lateness = lateness
    }
}

extension Array where Element == Double {
    /// The middle value, or the mean of the two middle values; nil if the array is empty.
    var median: Double? {
        guard !isEmpty else { return nil }
        let ordered = sorted()
        return (ordered[count / 2] + ordered[(count - 1) / 2]) / 2
    }
}
