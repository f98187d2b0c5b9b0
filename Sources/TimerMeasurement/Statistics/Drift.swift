/// The slope of lateness over time: whether the ticks keep to their grid in the long run, and how well that is known.
///
/// The first half of a turn is left out: a processor takes some 30 ms of light work to choose its idle states, in which
/// ticks become later by several µs. That is no drift, but would look like 70 ppm of it in a turn of 100 ms.
///
/// One late tick must not bend the slope, so the ticks of the second half are cut into blocks of equal number (16, or
/// fewer where there are few ticks), and a line is fitted by least squares to the blocks' medians. The row's drift is
/// the median of its turns' slopes.
///
/// How well it is known: a single slope has a standard error, from the distances of the block medians to the line. But a
/// machine that is slow for half a turn bends the whole line, which only the other turns can tell; so the spread of
/// the slopes (1.4826 × their median distance to their median, which is the standard deviation where they are
/// normal) counts instead where it is greater than the median standard error. The noise is three standard errors of the
/// median of so many slopes: a drift below it is none that this measurement could see. It shrinks with longer turns.
package struct Drift: Codable, Hashable, Sendable {
    /// Parts per million: µs later per second that passes.
    package let ppm: Double
    /// How far from zero ``ppm`` may well be without any drift: three standard errors.
    package let noise: Double
    /// The median lateness of the last block less that of the first, in nanoseconds.
    package let endOffset: Double

    private enum CodingKeys: String, CodingKey {
        case ppm
        case noise = "noise_ppm"
        case endOffset = "end_offset_ns"
    }

    /// The most blocks that a turn is cut into.
    static let blocks = 16
    /// The fewest ticks whose median is worth a block.
    static let ticksPerBlock = 4

    package init(ppm: Double, noise: Double, endOffset: Double) {
        self.ppm = ppm
        self.noise = noise
        self.endOffset = endOffset
    }

    /// The drift of one turn, its ticks in the order of their deadlines; nil for fewer than 23 ticks, whose second half
    /// makes no three blocks.
    package init?(_ turn: [Turn.Point]) {
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
        // All at one time, as many timers with one tick each may be.
        guard medians[0].time < medians[count - 1].time else { return nil }
        let line = Line(through: medians)
        ppm = line.slope * 1_000_000
        noise = 3 * line.slopeError * 1_000_000
        endOffset = medians[count - 1].lateness - medians[0].lateness
    }

    /// The drift over several turns; nil where there are none.
    package init?(_ turns: [Drift]) {
        guard let ppm = turns.map(\.ppm).median, let endOffset = turns.map(\.endOffset).median,
            let within = turns.map(\.noise).median, let distance = turns.map({ abs($0.ppm - ppm) }).median
        else { return nil }
        // A median is less sure than a mean, by the square root of π/2.
        let error = max(within, 3 * 1.4826 * distance) * (Double.pi / 2 / Double(turns.count)).squareRoot()
        self.init(ppm: ppm, noise: turns.count == 1 ? within : error, endOffset: endOffset)
    }
}

/// A line fitted by least squares.
private struct Line {
    let slope: Double
    /// The standard error of the slope, from the residuals with two degrees of freedom less than points.
    let slopeError: Double

    /// The line through at least three points, not all at one time.
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
