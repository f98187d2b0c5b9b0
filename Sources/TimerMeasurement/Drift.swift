/// The slope of lateness over time: whether the ticks keep to their grid in the long run, and how well that is known.
///
/// One late tick must not bend the slope, so the ticks of a round are cut into blocks of equal number (16, or fewer
/// where there are few ticks), and a line is fitted by least squares to the blocks' medians. The noise is two standard
/// errors of that line's slope, from the distances of the medians to the line: a drift below its noise is none that this
/// measurement could see.
///
/// Over several rounds, drift and end offset are the medians of the rounds'. The noise stays that of a single round, so
/// that it is rather too great than too small: the root mean square of the rounds' noises; or two standard deviations of
/// the rounds' drifts, where that is more. For a machine that is slow for half a second bends the line of a whole round,
/// which only the other rounds can tell.
package struct Drift: Hashable, Sendable {
    /// Parts per million: µs later per second that passes.
    package let ppm: Double
    /// How far from zero ``ppm`` may well be without any drift; two standard errors.
    package let noise: Double
    /// The median lateness of the last block less that of the first, in nanoseconds.
    package let endOffset: Double

    /// The most blocks that a round is cut into.
    static let blocks = 16
    /// The fewest ticks whose median is worth a block.
    static let ticksPerBlock = 4

    package init(ppm: Double, noise: Double, endOffset: Double) {
        self.ppm = ppm
        self.noise = noise
        self.endOffset = endOffset
    }

    /// The drift of one round; nil for fewer than 12 ticks, which make no three blocks.
    package init?(_ samples: ArraySlice<Sample>, period: UInt64) {
        let count = min(Self.blocks, samples.count / Self.ticksPerBlock)
        guard count >= 3 else { return nil }
        let medians = (0..<count)
            .map { block -> (time: Double, lateness: Double) in
                let start = samples.startIndex + samples.count * block / count
                let end = samples.startIndex + samples.count * (block + 1) / count
                let ticks = samples[start..<end]
                return (
                    ticks.map { Double($0.index) * Double(period) }.median ?? 0,
                    ticks.map { Double($0.lateness) }.median ?? 0
                )
            }
        let line = Line(through: medians)
        ppm = line.slope * 1_000_000
        noise = 2 * line.slopeError * 1_000_000
        endOffset = medians[count - 1].lateness - medians[0].lateness
    }

    /// The drift of several rounds; nil where there are none.
    package init?(_ rounds: [Drift]) {
        guard let ppm = rounds.map(\.ppm).median, let endOffset = rounds.map(\.endOffset).median else { return nil }
        let squares = rounds.reduce(0) { $0 + $1.noise * $1.noise }
        let within = (squares / Double(rounds.count)).squareRoot()
        self.init(ppm: ppm, noise: max(within, 2 * Self.deviation(of: rounds)), endOffset: endOffset)
    }

    /// The standard deviation of single rounds' drifts, estimated from these; 0 for one round, which tells nothing.
    private static func deviation(of rounds: [Drift]) -> Double {
        guard rounds.count > 1 else { return 0 }
        let mean = rounds.reduce(0) { $0 + $1.ppm } / Double(rounds.count)
        let squares = rounds.reduce(0) { $0 + ($1.ppm - mean) * ($1.ppm - mean) }
        return (squares / Double(rounds.count - 1)).squareRoot()
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
