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
package struct Drift: Codable, Hashable, Sendable {
    /// Parts per million: µs of additional lateness per second.
    package let ppm: Double
    /// The true drift is within so much of ``ppm``, in 99 of 100 stretches.
    package let noise: Double

    private enum CodingKeys: String, CodingKey {
        case ppm
        case noise = "noise_ppm"
    }

    private static let blocks = 16
    private static let ticksPerBlock = 4
    /// The deadlines of a stretch that has enough ticks, even if some deadlines are missed.
    package static let deadlines: UInt64 = 32

    package init(ppm: Double, noise: Double) {
        self.ppm = ppm
        self.noise = noise
    }

    /// The drift of one stretch, from its ticks in the order of their deadlines; nil for fewer than 15 ticks, which
    /// make fewer than three blocks.
    package init?(_ stretch: [Point]) {
        let points = stretch.suffix((3 * stretch.count + 3) / 4)
        let count = min(Self.blocks, points.count / Self.ticksPerBlock)
        guard count >= 3 else { return nil }
        let medians = (0..<count)
            .map { block -> (time: Double, lateness: Double) in
                let start = points.startIndex + points.count * block / count
                let end = points.startIndex + points.count * (block + 1) / count
                let ticks = points[start..<end]
                return (ticks.map { Double($0.time) }.median ?? 0, ticks.map { Double($0.lateness) }.median ?? 0)
            }
        // Many timers with one tick each may all tick at one time.
        guard medians[0].time < medians[count - 1].time else { return nil }
        let line = Line(through: medians)
        ppm = line.slope * 1_000_000
        noise = line.slopeNoise * 1_000_000
        guard isSound else { return nil }
    }

    /// The drift as a figure.
    package var estimate: Estimate { Estimate(ppm, ppm - noise...ppm + noise) }

    /// Whether a measurement can have found this drift, and a page can draw it.
    var isSound: Bool { ppm.magnitude < 1e15 && (0..<1e15).contains(noise) }
}

/// A line fitted by least squares.
private struct Line {
    let slope: Double
    /// The slope may be wrong by so much.
    let slopeNoise: Double

    /// A line must explain more than this share of the variance.
    private static let share = 0.8
    /// The two-sided 1 % points of Student's distribution, from one degree of freedom. Beyond them the share decides.
    private static let deviations = [63.657, 9.925, 5.841, 4.604]

    /// The line through at least three points that are not all at one time.
    init(through points: [(time: Double, lateness: Double)]) {
        let count = Double(points.count)
        let time = points.reduce(0) { $0 + $1.time } / count
        let lateness = points.reduce(0) { $0 + $1.lateness } / count
        let spread = points.reduce(0) { $0 + ($1.time - time) * ($1.time - time) }
        let slope = points.reduce(0) { $0 + ($1.time - time) * ($1.lateness - lateness) } / spread
        let rest = points.reduce(0) { sum, point in
            let distance = point.lateness - lateness - slope * (point.time - time)
            return sum + distance * distance
        }
        self.slope = slope
        // The line explains slope² × spread of the variance, and leaves the rest.
        let ofShare = (Self.share / (1 - Self.share) * rest / spread).squareRoot()
        // The residuals have two degrees of freedom fewer than there are points.
        let freedom = points.count - 2
        let ofChance =
            freedom <= Self.deviations.count
            ? Self.deviations[freedom - 1] * (rest / Double(freedom) / spread).squareRoot() : 0
        slopeNoise = max(ofShare, ofChance)
    }
}

/// One tick's place in time.
package struct Point: Hashable, Sendable {
    /// Nanoseconds from the stretch's first deadline to the tick's deadline.
    package let time: UInt64
    /// Nanoseconds from the tick's deadline to the tick.
    package let lateness: Int64

    package init(time: UInt64, lateness: Int64) {
        self.time = time
        self.lateness = lateness
    }
}

extension Array where Element == Double {
    /// The middle value, or the mean of the two middle values; nil if the array is empty.
    package var median: Double? {
        guard !isEmpty else { return nil }
        let ordered = sorted()
        return (ordered[count / 2] + ordered[(count - 1) / 2]) / 2
    }
}
