internal import TimerStatistics

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
package struct StretchDrift: Codable, Hashable, Sendable {
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
    /// A line must explain more than this share of the variance.
    private static let share = 0.8
    /// The two-sided 1 % points of Student's distribution, from one degree of freedom. Beyond them the share decides.
    private static let deviations = [63.657, 9.925, 5.841, 4.604]
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
    package var estimate: Estimate { Estimate(ppm, ppm - noise...ppm + noise) }

    /// Whether a measurement can have found this drift, and a page can draw it.
    var isSound: Bool { ppm.magnitude < 1e15 && (0..<1e15).contains(noise) }
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
