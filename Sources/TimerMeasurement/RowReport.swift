/// One row of the results, over all rounds: what the table and the JSON show.
package struct RowReport: Encodable, Hashable, Sendable {
    /// Lateness in nanoseconds. Percentiles are those of all rounds' ticks together.
    package struct Lateness: Encodable, Hashable, Sendable {
        package let min: Int64
        package let p50: Int64
        package let p90: Int64
        package let p99: Int64
        package let p999: Int64
        package let max: Int64
        package let mean: Double
        package let stddev: Double
    }

    /// How many times the floor's a row's lateness is: the median of the rounds' ratios.
    package struct Ratio: Encodable, Hashable, Sendable {
        package let p50: Double?
        package let p99: Double?
    }

    package let name: String
    package let kind: Row.Kind
    package let period: UInt64
    package let ticks: Int
    package let missed: UInt64
    package let early: Int
    package let lateness: Lateness
    package let drift: Double?
    package let driftNoise: Double?
    package let endOffset: Double?
    package let cpuPercent: Double?
    package let wakeUpsPerTick: Double?
    package let ratioToFloor: Ratio

    private enum CodingKeys: String, CodingKey {
        case name
        case kind
        case period = "period_ns"
        case ticks
        case missed
        case early
        case lateness = "lateness_ns"
        case drift = "drift_ppm"
        case driftNoise = "drift_noise_ppm"
        case endOffset = "end_offset_ns"
        case cpuPercent = "cpu_percent"
        case wakeUpsPerTick = "wakeups_per_tick"
        case ratioToFloor = "ratio_to_floor"
    }

    /// Sums a row's rounds up.
    ///
    /// - Parameters:
    ///   - row: which row it is.
    ///   - period: nanoseconds between two deadlines.
    ///   - rounds: the row's results.
    ///   - floor: the floor's results of the same rounds, in the same order.
    package init(_ row: Row, period: UInt64, rounds: [RoundResult], floor: [RoundResult]) {
        name = row.name
        kind = row.kind
        self.period = period
        ticks = rounds.reduce(0) { $0 + $1.ticks }
        missed = rounds.reduce(0) { $0 + $1.missed }
        early = rounds.reduce(0) { $0 + $1.early }
        var all = Distribution()
        for round in rounds { all.add(round.lateness) }
        lateness = Lateness(all)
        let drift = Drift(rounds.compactMap(\.drift))
        self.drift = drift.flatMap { $0.ppm.rounded(places: 3) }
        driftNoise = drift.flatMap { $0.noise.rounded(places: 3) }
        endOffset = drift.flatMap { $0.endOffset.rounded(places: 1) }
        let elapsed = rounds.reduce(0) { $0 + $1.elapsed }
        let cpu = rounds.reduce(0) { $0 + $1.cpu }
        cpuPercent = (100 * Double(cpu) / Double(elapsed)).rounded(places: 3)
        let wakeUps = rounds.reduce(0) { $0 + $1.wakeUps }
        wakeUpsPerTick = (Double(wakeUps) / Double(ticks)).rounded(places: 3)
        ratioToFloor = Ratio(
            p50: Self.ratio(rounds, floor, of: 50),
            p99: Self.ratio(rounds, floor, of: 99)
        )
    }

    /// The median of the rounds' ratios, each to the floor of the same round: what slows a whole round down is in both
    /// and falls out.
    private static func ratio(_ rounds: [RoundResult], _ floor: [RoundResult], of percent: Double) -> Double? {
        let ratios = zip(rounds, floor)
            .compactMap { round, floor -> Double? in
                let ratio = Double(round.lateness.percentile(percent)) / Double(floor.lateness.percentile(percent))
                return ratio.isFinite ? ratio : nil
            }
        return ratios.median.flatMap { $0.rounded(places: 3) }
    }
}

extension RowReport.Lateness {
    fileprivate init(_ distribution: Distribution) {
        min = distribution.moments.min
        p50 = distribution.percentile(50)
        p90 = distribution.percentile(90)
        p99 = distribution.percentile(99)
        p999 = distribution.percentile(99.9)
        max = distribution.moments.max
        mean = distribution.moments.mean.rounded(places: 1) ?? 0
        stddev = distribution.moments.standardDeviation.rounded(places: 1) ?? 0
    }
}

extension Double {
    /// Rounded for people; nil where there is no number, for JSON has no infinity.
    fileprivate func rounded(places: Int) -> Double? {
        guard isFinite else { return nil }
        let scale = (0..<places).reduce(1.0) { scale, _ in scale * 10 }
        // Adding zero turns a negative zero into a plain one.
        return (self * scale).rounded() / scale + 0
    }
}
