/// How often the quota of a control group stopped the process while it was measured.
package struct QuotaStops: Codable, Hashable, Sendable {
    /// The quota, in processors.
    package let limit: Double
    /// The quota's periods in which the group wanted to run, and those in which it was stopped.
    package let periods: UInt64
    package let stops: UInt64
    /// The time for which it was stopped, in percent. The kernel adds up all processors: at most 100 counts.
    package let share: Double

    package init(limit: Double, periods: UInt64, stops: UInt64, share: Double) {
        (self.limit, self.periods, self.stops, self.share) = (limit, periods, stops, share)
    }

    private enum CodingKeys: String, CodingKey {
        case limit = "quota"
        case periods
        case stops = "throttled"
        case share = "percent"
    }

    /// From one of so many periods on, figures are of the quota: one stop makes up to a hundred ticks of 1 ms late.
    private static let fewest: UInt64 = 100

    /// Whether the quota made the figures.
    var matters: Bool { stops > 0 && stops >= periods / Self.fewest }

    /// For example `the quota of 0.05 processors stopped this process in 51 of 66 periods`. The share is not among the
    /// words, since a sum of all processors is no share of the time.
    package var words: String {
        let limit = NumberText.fixed(limit, places: 2)
        return "the quota of \(limit) processors stopped this process in \(stops) of \(periods) periods"
    }

    /// Those of two measurements with equal quotas.
    func adding(_ other: QuotaStops, share: Double) -> QuotaStops {
        QuotaStops(limit: other.limit, periods: periods + other.periods, stops: stops + other.stops, share: share)
    }

    var isSound: Bool {
        (0...1e6).contains(limit) && periods < 1 << 40 && stops < 1 << 40 && (0...100).contains(share)
    }
}
