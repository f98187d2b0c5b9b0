internal import Foundation
internal import TimerKernel

/// The slope of lateness over time: whether ticks keep to their grid in the long run, and how well that is known.
///
/// It comes from one long stretch of a row. **Of a row that keeps a grid** the first sixteenth does not count, in which
/// the processors choose their idle states. One late tick must not bend the slope. So the ticks are cut into 16 blocks
/// of equal number (fewer for few ticks), and a line is fitted by least squares to the blocks' medians.
///
/// The noise is so great that a slope exceeds it only if the line explains more than nine tenths of the medians'
/// variance. Ticks are not independent: a machine keeps a level of lateness for 5 to 500 ms and sometimes for seconds,
/// so a stretch may have a change of level or two. A line explains at most four fifths of the variance of a single
/// change, whenever it comes. A standard error assumes that the distances from the line are independent, or that their
/// correlation is known; 16 of them do not tell it. In a few blocks chance alone can look like a line, so their noise
/// is at least that of Student's distribution for 99 of 100 stretches. It shrinks with longer stretches.
///
/// **A row that keeps no grid** adds each sleep's own lateness to all later ones, and so there is no line: a stall
/// stays in it permanently. Its drift is the middle of what each 20 ms add, with the interval of the signed-rank test,
/// as that of a p50. The time is that of its ticks and not that of its deadlines, of which it serves ever fewer: it
/// cannot fall behind faster than time passes. Another minute may have another drift.
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
    private static let share = 0.9
    /// The two-sided 1 % points of Student's distribution, from one degree of freedom. Beyond them the share decides.
    private static let deviations = [63.657, 9.925, 5.841]
    /// The deadlines of a stretch that has enough ticks, even if some deadlines are missed.
    static let deadlines: UInt64 = 32
    /// Nanoseconds that are compared of a row without a grid: as long as a turn.
    private static let step: Int64 = 20_000_000

    init(ppm: Double, noise: Double) {
        self.ppm = ppm
        self.noise = noise
    }

    /// The drift of one stretch, from its ticks in the order of their deadlines; nil for fewer than 12 ticks, or for
    /// less than 0.2 s of a row without a grid.
    init?(_ stretch: [Point], keepsGrid: Bool = true) {
        guard let known = keepsGrid ? Self.line(through: stretch) : Self.middle(of: stretch) else { return nil }
        self = known
        guard isSound else { return nil }
    }

    private static func line(through stretch: [Point]) -> StretchDrift? {
        let points = stretch.dropFirst(stretch.count / 16)
        let count = min(blocks, points.count / ticksPerBlock)
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
        // All at one time have no line.
        guard let line = medians.line else { return nil }
        // The residuals have two degrees of freedom fewer than there are points.
        let freedom = count - 2
        let ofShare = share / (1 - share) * Double(freedom)
        let ofChance = freedom <= deviations.count ? deviations[freedom - 1] * deviations[freedom - 1] : 0
        let noise = (max(ofShare, ofChance) * line.variance).squareRoot()
        return StretchDrift(ppm: line.slope * 1_000_000, noise: noise * 1_000_000)
    }

    private static func middle(of stretch: [Point]) -> StretchDrift? {
        guard var last = stretch.first else { return nil }
        // As in the verdicts by p50: one stall then hides no resemblance of neighbours.
        var logarithms: [Double] = []
        for point in stretch {
            let elapsed = point.ticked - last.ticked
            guard elapsed >= step else { continue }
            logarithms.append(log(max(Double(point.lateness - last.lateness), 1) / Double(elapsed)))
            last = point
        }
        guard let known = Ratio(ofLogarithms: logarithms)?.estimate, let interval = known.interval else { return nil }
        let noise = max(known.value - interval.lowerBound, interval.upperBound - known.value)
        return StretchDrift(ppm: known.value * 1_000_000, noise: noise * 1_000_000)
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

    /// Nanoseconds from the stretch's first deadline to the tick.
    fileprivate var ticked: Int64 { Int64(time) + lateness }
}

extension Array where Element == Double {
    /// The middle value, or the mean of the two middle values; nil if the array is empty.
    var median: Double? {
        guard !isEmpty else { return nil }
        let ordered = sorted()
        return (ordered[count / 2] + ordered[(count - 1) / 2]) / 2
    }
}

/// The sums behind a line through points of time and lateness, fitted by least squares.
///
/// They are exact, and wrap around: a line needs only their distances from the means.
private struct LineSums {
    /// The number of points.
    private var count: Int128 = 0
    // Sums over the points of the time, the lateness, their squares and their product.
    private var times: Int128 = 0
    private var latenesses: Int128 = 0
    private var squaredTimes: Int128 = 0
    private var squaredLatenesses: Int128 = 0
    private var products: Int128 = 0

    /// Adds a point. Constant time.
    mutating func add(time: Int128, lateness: Int128) {
        count &+= 1
        times &+= time
        latenesses &+= lateness
        squaredTimes &+= time &* time
        squaredLatenesses &+= lateness &* lateness
        products &+= time &* lateness
    }

    /// The line's slope, and the square of the slope's standard error if the points are independent; nil for fewer than
    /// three points, or if all are of one time.
    var line: (slope: Double, variance: Double)? {
        guard count > 2 else { return nil }
        let spread = spreads
        guard spread.ofTimes > 0 else { return nil }
        let slope = spread.together / spread.ofTimes
        let residuals = max(spread.ofLatenesses - slope * spread.together, 0)
        return (slope, residuals / Double(count - 2) / spread.ofTimes)
    }

    /// The sums of the squares and the products of the distances from the means.
    private var spreads: (ofTimes: Double, ofLatenesses: Double, together: Double) {
        // The means are subtracted exactly: great latenesses may differ little.
        let (time, ofTime) = times.quotientAndRemainder(dividingBy: count)
        let (lateness, ofLateness) = latenesses.quotientAndRemainder(dividingBy: count)
        let (number, restOfTime, restOfLateness) = (Double(count), Double(ofTime), Double(ofLateness))
        let squaresOfTime = squaredTimes &- 2 &* time &* times &+ count &* time &* time
        let squaresOfLateness = squaredLatenesses &- 2 &* lateness &* latenesses &+ count &* lateness &* lateness
        let both = products &- time &* latenesses &- lateness &* times &+ count &* time &* lateness
        return (
            Double(squaresOfTime) - restOfTime * restOfTime / number,
            Double(squaresOfLateness) - restOfLateness * restOfLateness / number,
            Double(both) - restOfTime * restOfLateness / number
        )
    }
}

/// The lateness of a row over the time of its long stretch, in steps of equal length.
struct LatenessSeries: Codable, Hashable, Sendable {
    /// Nanoseconds of one step.
    let step: UInt64
    /// Nanoseconds: the median and the greatest lateness of the ticks whose deadlines lie in each step; nil for a step
    /// without a tick.
    let medians: [Int64?]
    let maxima: [Int64?]

    private enum CodingKeys: String, CodingKey {
        case step = "step_ns"
        case medians = "median_ns"
        case maxima = "max_ns"
    }

    /// The most steps. A picture has no room for more.
    static let most = 200
    /// Greater numbers are damaged: this is 52 days.
    private static let limit: Int64 = 1 << 52

    /// The series of one stretch, from its ticks in any order; nil without ticks. Steps have a round length, and there
    /// are no more of them than different deadlines. O(*n* log *n*) for *n* ticks.
    init?(_ points: [Point], steps most: Int = Self.most) {
        guard let end = points.map(\.time).max() else { return nil }
        let least = end / UInt64(min(most, Set(points.map(\.time)).count)) + 1
        let step = Duration(wholeNanoseconds: least).rounded(up: true).wholeNanoseconds
        var latenesses = [[Int64]](repeating: [], count: Int(end / step) + 1)
        for point in points { latenesses[Int(point.time / step)].append(point.lateness) }
        for place in latenesses.indices { latenesses[place].sort() }
        self.step = step
        medians = latenesses.map { $0.isEmpty ? nil : $0[($0.count - 1) / 2] }
        maxima = latenesses.map(\.last)
    }

    /// Whether a measurement can have found this, and a page can draw it.
    var isSound: Bool {
        let pairs = zip(medians, maxima)
        return 0 < step && step < Self.limit && medians.count == maxima.count && medians.count <= Self.most
            && pairs.contains { $0.0 != nil }
            && pairs.allSatisfy { median, most in
                guard let median, let most else { return median == nil && most == nil }
                return median <= most && -Self.limit < median && most < Self.limit
            }
    }
}
