package import HostSystem
internal import TimerResults

extension StealTime {
    /// The share of the time that is no disturbance, in percent.
    private static let tolerated = 2.0
    /// Fewer hundredths of a second may be no more than the rounding of a short measurement.
    private static let fewest: UInt64 = 3

    /// Describes the stolen time since this reading; nil if it was little.
    package func disturbance(until later: StealTime?) -> String? {
        guard let later, later.stolen >= stolen + Self.fewest, let percent = later.percent(since: self),
            percent > Self.tolerated
        else { return nil }
        return "other guests of the host took \(NumberText.fixed(percent, places: 1)) % of the processors' time"
    }
}
