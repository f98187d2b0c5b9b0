/// The slope of lateness over time: whether ticks keep to their grid in the long run, and how well that is known.
///
/// Only the second half of a turn counts. A processor takes some 30 ms of light work to choose its idle states, and
/// ticks become later by several µs meanwhile. That is not drift, but would look like 70 ppm in a turn of 100 ms.
///
/// One late tick must not bend the slope. So the ticks of the second half are cut into 16 blocks of equal number
/// (fewer for few ticks), and a line is fitted by least squares to the medians of the blocks. The drift of a row is
/// the median of the slopes of its turns.
///
/// A single slope has a standard error, from the distances of the block medians to the line. But a machine that is
/// slow for half a turn bends the whole line, and only the other turns show that. So the spread of the slopes counts
/// instead if it is greater: 1.4826 × their median distance to their median, which is the standard deviation of
/// normal values. The noise is three standard errors of the median of all slopes. A drift below the noise is too
/// small for the measurement to see. The noise shrinks with longer turns.
package struct Drift: Codable, Hashable, Sendable {
    /// Parts per million: µs of additional lateness per second.
    package let ppm: Double
    /// Three standard errors of ``ppm``.
    package let noise: Double
    /// The median lateness of the last block minus that of the first, in nanoseconds.
    package let endOffset: Double

    private enum CodingKeys: String, CodingKey {
        case ppm
        case noise = "noise_ppm"
        case endOffset = "end_offset_ns"
    }

    /// The most blocks of a turn.
    static let blocks = 16
    /// The fewest ticks of a block.
    static let ticksPerBlock = 4

    package init(ppm: Double, noise: Double, endOffset: Double) {
        self.ppm = ppm
        self.noise = noise
        self.endOffset = endOffset
    }

    /// The shortest turn with a drift, in nanoseconds: in 300 ms the noise alone is 110 to 150 ppm.
    package static let shortestTurn: UInt64 = 1_000_000_000

    /// The drift of one turn. Nil if the turn is short, and for fewer than 23 ticks: their second half makes fewer
    /// than three blocks.
    ///
    /// - Parameters:
    ///   - turn: the ticks in the order of their deadlines.
    ///   - period: nanoseconds.
    ///   - shortest: the nanoseconds of the shortest turn with a drift.
    package init?(_ turn: [Point], period: UInt64, shortest: UInt64 = Drift.shortestTurn) {
        guard let last = turn.last, last.time + period >= shortest else { return nil }
        let points = turn.suffix((turn.count + 1) / 2)
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
        noise = 3 * line.slopeError * 1_000_000
        endOffset = medians[count - 1].lateness - medians[0].lateness
    }

    /// The drift over several turns; nil without turns.
    package init?(_ turns: [Drift]) {
        guard let ppm = turns.map(\.ppm).median, let endOffset = turns.map(\.endOffset).median,
            let within = turns.map(\.noise).median, let distance = turns.map({ abs($0.ppm - ppm) }).median
        else { return nil }
        // The error of a median is that of a mean, times the square root of π/2.
        let error = max(within, 3 * 1.4826 * distance) * (Double.pi / 2 / Double(turns.count)).squareRoot()
        self.init(ppm: ppm, noise: turns.count == 1 ? within : error, endOffset: endOffset)
    }

    /// The drift for people: `+12.1 ± 3.0`, or `± 3.0` if nothing stands out of the noise. Digits below the noise mean
    /// nothing.
    package var words: String {
        let places = noise < 10 ? 1 : 0
        let noise = "± \(NumberText.fixed(noise, places: places))"
        guard ppm.magnitude > self.noise else { return noise }
        return "\(ppm > 0 ? "+" : "")\(NumberText.fixed(ppm, places: places)) \(noise)"
    }

    /// Whether a measurement can have found this drift, and a page can draw it.
    var isSound: Bool { ppm.magnitude < 1e15 && (0..<1e15).contains(noise) && endOffset.magnitude < 1e18 }
}

/// A line fitted by least squares.
private struct Line {
    let slope: Double
    /// The standard error of the slope. The residuals have two degrees of freedom fewer than there are points.
    let slopeError: Double

    /// The line through at least three points that are not all at one time.
    init(through points: [(time: Double, lateness: Double)]) {
        let count = Double(points.count)
        let time = points.reduce(0) { $0 + $1.time } / count
        let lateness = points.reduce(0) { $0 + $1.lateness } / count
        let spread = points.reduce(0) { $0 + ($1.time - time) * ($1.time - time) }
        let slope = points.reduce(0) { $0 + ($1.time - time) * ($1.lateness - lateness) } / spread
        let residuals = points.map { $0.lateness - lateness - slope * ($0.time - time) }
        self.slope = slope
        slopeError = (residuals.reduce(0) { $0 + $1 * $1 } / (count - 2) / spread).squareRoot()
    }
}

/// One tick's place in time.
package struct Point: Hashable, Sendable {
    /// Nanoseconds from the turn's first deadline to the tick's deadline.
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
    var median: Double? {
        guard !isEmpty else { return nil }
        let ordered = sorted()
        return (ordered[count / 2] + ordered[(count - 1) / 2]) / 2
    }
}
