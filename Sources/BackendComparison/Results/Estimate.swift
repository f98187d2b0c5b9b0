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

    /// The same seen from the other side: later becomes earlier.
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

/// The middle of a few values, and how well it is known: from their signs and ranks alone, so that no single value can
/// bend it.
///
/// A Walsh average is the mean of two of the values, or of one with itself. The middle is the median of all Walsh
/// averages (J. L. Hodges and E. L. Lehmann, "Estimates of location based on rank tests", 1963). The ends of the
/// interval are those averages at which the signed-rank test (F. Wilcoxon, 1945) begins to reject. The interval is
/// right if each value is as likely above the true middle as below by any distance; nothing else is assumed of the
/// values' distribution.
enum SignedRank {
    /// How often the interval holds the true middle.
    static let confidence = 0.99
    /// The same as a number of standard deviations of a normal distribution, to both sides.
    private static let deviations = 2.5758293035489004
    /// Up to this number of values, the sum of ranks has its exact distribution, and above a normal one.
    private static let mostExact = 50

    /// The middle of some values in the order of time, and its interval; nil without values. The ends are infinite if
    /// the values are too few for the confidence, which takes eight. If neighbours resemble each other, they say less
    /// than their number, and the interval is wider: by √((1 + r) / (1 − r)) for a correlation r above 0. O(*n* log
    /// *n*).
    static func estimate(_ values: [Double]) -> (low: Double, middle: Double, high: Double)? {
        guard !values.isEmpty else { return nil }
        let averages = WalshAverages(values)
        let (lower, upper) = ((averages.count - 1) / 2, averages.count / 2)
        let middle = (averages[lower] + averages[upper]) / 2
        guard let rank = lowerEnd(of: values.count) else { return (-.infinity, middle, .infinity) }
        let widening = widening(of: values)
        return (
            middle - (middle - averages[rank]) * widening,
            middle,
            middle + (averages[averages.count - 1 - rank] - middle) * widening
        )
    }

    /// The rank of the Walsh average at the lower end of the interval, from 0; nil for too few values. It is the
    /// greatest sum of ranks that the test rejects: so many averages lie beyond each end.
    private static func lowerEnd(of count: Int) -> Int? {
        let tail = (1 - confidence) / 2
        guard count <= mostExact else {
            let number = Double(count)
            let mean = number * (number + 1) / 4
            let deviation = (number * (number + 1) * (2 * number + 1) / 24).squareRoot()
            return Int((mean - deviations * deviation).rounded(.down))
        }
        // How likely each sum of ranks is, if every rank is in it or not by a fair coin.
        var chances = [1.0]
        for rank in 1...count {
            var next = [Double](repeating: 0, count: chances.count + rank)
            for (sum, chance) in chances.enumerated() {
                next[sum] += chance / 2
                next[sum + rank] += chance / 2
            }
            chances = next
        }
        var (sum, rank) = (chances[0], 0)
        guard sum <= tail else { return nil }
        while sum + chances[rank + 1] <= tail {
            rank += 1
            sum += chances[rank]
        }
        return rank
    }

    /// How much wider the interval must be, because neighbours resemble each other; at least 1.
    private static func widening(of values: [Double]) -> Double {
        guard values.count > 2 else { return 1 }
        let correlation = correlation(values.dropLast(), values.dropFirst())
        return correlation > 0 ? ((1 + correlation) / (1 - correlation)).squareRoot() : 1
    }

    /// The correlation of two series of equal length (K. Pearson, 1895); 0 if a series is constant.
    private static func correlation(_ first: ArraySlice<Double>, _ second: ArraySlice<Double>) -> Double {
        let means = [first, second].map { $0.reduce(0, +) / Double($0.count) }
        var (together, square, otherSquare) = (0.0, 0.0, 0.0)
        for (value, other) in zip(first, second) {
            let (distance, otherDistance) = (value - means[0], other - means[1])
            together += distance * otherDistance
            square += distance * distance
            otherSquare += otherDistance * otherDistance
        }
        let correlation = together / (square * otherSquare).squareRoot()
        return correlation.isFinite ? min(correlation, 0.999) : 0
    }
}

/// The means of all pairs of some values, each value with itself included, in ascending order. They are never stored.
private struct WalshAverages {
    private let values: [Double]

    init(_ values: [Double]) { self.values = values.sorted() }

    var count: Int { values.count * (values.count + 1) / 2 }

    /// The average at a rank, from 0.
    ///
    /// It is the least number that has more than `rank` averages at or below it. Bisection finds that number among
    /// all that a `Double` can be, in at most 64 steps.
    subscript(rank: Int) -> Double {
        var (low, high) = (Self.order(values[0]), Self.order(values[values.count - 1]))
        while low < high {
            // Half the sum, rounded down, without a sum that could overflow.
            let middle = (low >> 1) + (high >> 1) + (low & high & 1)
            if number(atMost: Self.number(middle)) > rank { high = middle } else { low = middle + 1 }
        }
        return Self.number(low)
    }

    /// The number of averages that are at most a bound. Linear: as one value of a pair grows, the greatest that the
    /// other may be shrinks.
    private func number(atMost bound: Double) -> Int {
        var (number, partners) = (0, values.count)
        for (index, value) in values.enumerated() {
            while partners > index, (value + values[partners - 1]) / 2 > bound { partners -= 1 }
            guard partners > index else { break }
            number += partners - index
        }
        return number
    }

    /// The place of a number among all numbers, in their order.
    private static func order(_ number: Double) -> Int64 {
        let bits = Int64(bitPattern: number.bitPattern)
        return bits < 0 ? .min - bits : bits
    }

    private static func number(_ order: Int64) -> Double {
        Double(bitPattern: UInt64(bitPattern: order < 0 ? .min - order : order))
    }
}

/// How many events can be expected if so many were seen (F. Garwood, "Fiducial limits for the Poisson distribution",
/// 1936).
enum PoissonCount {
    /// The means at which so many events or more, or so many or fewer, are as rare as ``SignedRank/confidence`` leaves
    /// open at each end: 0 to 5.3 for none.
    static func interval(of count: Int) -> ClosedRange<Double> {
        let rare = (1 - SignedRank.confidence) / 2
        let low = count == 0 ? 0 : mean { chance(ofAtMost: count - 1, mean: $0) >= 1 - rare }
        return low...mean { chance(ofAtMost: count, mean: $0) >= rare }
    }

    /// The greatest mean of which something holds that holds of the lower ones only.
    private static func mean(_ holds: (Double) -> Bool) -> Double {
        var (low, high) = (0.0, 1.0)
        while holds(high) { high *= 2 }
        // As near as a floating-point number can be.
        for _ in 0..<60 {
            let middle = (low + high) / 2
            if holds(middle) { low = middle } else { high = middle }
        }
        return low
    }

    private static func chance(ofAtMost count: Int, mean: Double) -> Double {
        var (term, sum) = (exp(-mean), exp(-mean))
        for number in 0..<count {
            term *= mean / Double(number + 1)
            sum += term
        }
        return sum
    }
}

/// Pseudorandom numbers, the same for the same seed (G. Steele, D. Lea and C. Flood, "Fast splittable
/// pseudorandom number generators", 2014).
struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
