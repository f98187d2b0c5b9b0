/// One case over all rounds: what tables show and JSON says.
package struct RowReport: Encodable, Hashable, Sendable {
    /// A spread of latenesses in nanoseconds. Percentiles are those of all rounds' ticks together.
    package struct Spread: Encodable, Hashable, Sendable {
        package let min: Int64
        package let p50: Int64
        package let p90: Int64
        package let p99: Int64
        package let p999: Int64
        package let max: Int64
        package let mean: Double
    }

    /// How widely the lateness is spread, in nanoseconds.
    package struct Jitter: Encodable, Hashable, Sendable {
        /// The standard deviation.
        package let stddev: Double
        /// The 99th percentile less the median.
        package let p99LessP50: Int64
    }

    /// A row's lateness as a multiple of the floor's: the median of the rounds' ratios.
    package struct Ratio: Encodable, Hashable, Sendable {
        package let p50: Double?
        package let p99: Double?
    }

    /// What was measured.
    package let `case`: Case
    /// Nanoseconds between two deadlines of a timer.
    package let period: UInt64
    /// How many ticks there were.
    package let ticks: Int
    /// How many deadlines got no tick of their own.
    package let missed: UInt64
    /// How many ticks came before their deadline.
    package let early: Int
    /// From the deadline to the handler.
    package let lateness: Spread
    /// The same for every deadline: one that got no tick of its own was late until the tick came that carried it.
    package let corrected: Spread
    /// From the deadline to when the alarm's thread looked at the clock.
    package let wake: Spread
    /// From there to the handler.
    package let hop: Spread
    /// By how much the gaps between ticks differed from their deadlines', without sign.
    package let intervalError: Spread
    package let jitter: Jitter
    /// The slope of the lateness; nil where the turns had too few ticks.
    package let drift: Drift?
    /// Time on a processor per time that passed.
    package let cpuPercent: Double?
    package let wakeUpsPerTick: Double?
    package let contextSwitchesPerTick: Double?
    package let ratioToFloor: Ratio
    /// The spread that ``lateness`` is a summary of.
    package let distribution: Distribution
    /// The spread that ``corrected`` is a summary of.
    package let correctedDistribution: Distribution

    /// Sums a case's rounds up.
    ///
    /// - Parameters:
    ///   - case: what was measured.
    ///   - results: where it is in.
    init(_ case: Case, in results: Results) {
        let cells = results.rounds.compactMap { $0[`case`] }
        self.case = `case`
        period = results.options.period
        ticks = cells.reduce(0) { $0 + $1.ticks }
        missed = cells.reduce(0) { $0 + $1.missed }
        early = cells.reduce(0) { $0 + $1.early }
        distribution = cells.map(\.lateness).sum
        correctedDistribution = cells.map(\.corrected).sum
        lateness = Spread(distribution)
        corrected = Spread(correctedDistribution)
        wake = Spread(cells.map(\.wake).sum)
        hop = Spread(cells.map(\.hop).sum)
        intervalError = Spread(cells.map(\.intervalError).sum)
        jitter = Jitter(
            stddev: distribution.moments.standardDeviation.rounded(places: 1) ?? 0,
            p99LessP50: lateness.p99 - lateness.p50
        )
        drift = Drift(cells.flatMap(\.drifts)).flatMap(\.rounded)
        let cost = cells.map(\.cost).reduce(into: Cost(cpu: 0, wakeUps: 0, contextSwitches: 0)) { $0.add($1) }
        let elapsed = cells.reduce(0) { $0 + $1.elapsed }
        cpuPercent = (100 * Double(cost.cpu) / Double(elapsed)).rounded(places: 3)
        wakeUpsPerTick = (Double(cost.wakeUps) / Double(ticks)).rounded(places: 3)
        contextSwitchesPerTick = (Double(cost.contextSwitches) / Double(ticks)).rounded(places: 3)
        let floor = Case(row: Results.floor, kind: .reference, load: `case`.load)
        ratioToFloor = Ratio(
            p50: Comparing(`case`, with: floor, in: results, by: .p50).ratios.median?.rounded(places: 3),
            p99: Comparing(`case`, with: floor, in: results, by: .p99).ratios.median?.rounded(places: 3)
        )
    }

    private enum CodingKeys: String, CodingKey {
        case `case`
        case period = "period_ns"
        case ticks
        case missed
        case early
        case lateness = "lateness_ns"
        case corrected = "corrected_lateness_ns"
        case wake = "wake_lateness_ns"
        case hop = "hop_lateness_ns"
        case intervalError = "interval_error_ns"
        case jitter = "jitter_ns"
        case drift
        case cpuPercent = "cpu_percent"
        case wakeUpsPerTick = "wakeups_per_tick"
        case contextSwitchesPerTick = "context_switches_per_tick"
        case ratioToFloor = "ratio_to_floor"
    }
}

extension RowReport.Jitter {
    private enum CodingKeys: String, CodingKey {
        case stddev
        case p99LessP50 = "p99_less_p50"
    }
}

extension RowReport.Spread {
    fileprivate init(_ distribution: Distribution) {
        let percentiles = distribution.percentiles([50, 90, 99, 99.9])
        min = distribution.moments.min
        p50 = percentiles[0]
        p90 = percentiles[1]
        p99 = percentiles[2]
        p999 = percentiles[3]
        max = distribution.moments.max
        mean = distribution.moments.mean.rounded(places: 1) ?? 0
    }
}

extension Drift {
    /// Rounded for people; nil where there is no number.
    fileprivate var rounded: Drift? {
        guard let ppm = ppm.rounded(places: 3), let noise = noise.rounded(places: 3),
            let endOffset = endOffset.rounded(places: 1)
        else { return nil }
        return Drift(ppm: ppm, noise: noise, endOffset: endOffset)
    }
}

extension [Distribution] {
    /// All of them together.
    fileprivate var sum: Distribution { reduce(into: Distribution()) { $0.add($1) } }
}

extension Double {
    /// Rounded for people; nil where there is no number, for JSON has no infinity.
    func rounded(places: Int) -> Double? {
        let scale = (0..<places).reduce(1.0) { scale, _ in scale * 10 }
        // Adding zero turns a negative zero into a plain one.
        let rounded = (self * scale).rounded() / scale + 0
        return rounded.isFinite ? rounded : nil
    }
}
