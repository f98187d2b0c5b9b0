internal import Foundation

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
