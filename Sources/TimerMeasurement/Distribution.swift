internal import Histogram

/// How a row's lateness is spread: percentiles from a histogram that is exact to three digits, the rest from the
/// values themselves.
///
/// Two distributions are added, which is what makes a percentile over several rounds right: the mean of the rounds'
/// percentiles would be no percentile of anything.
package struct Distribution: Sendable {
    /// Extremes, mean and standard deviation, in nanoseconds.
    package private(set) var moments = Moments()
    private var histogram = Histogram<UInt64>(
        highestTrackableValue: Self.greatest,
        numberOfSignificantValueDigits: .three
    )

    /// The greatest lateness that percentiles tell apart: one hour.
    private static let greatest: UInt64 = 3_600_000_000_000

    package init() {}

    /// The distribution of some latenesses.
    package init(_ latenesses: some Sequence<Int64>) {
        for lateness in latenesses { add(lateness) }
    }

    /// Takes a lateness in, in nanoseconds. To the percentiles an early tick is one that is not late.
    package mutating func add(_ lateness: Int64) {
        moments.add(lateness)
        histogram.record(min(UInt64(max(lateness, 0)), Self.greatest))
    }

    /// Takes another distribution in.
    package mutating func add(_ other: Distribution) {
        moments.add(other.moments)
        histogram.add(other.histogram)
    }

    /// The lateness that a share of the ticks (in percent) does not exceed, in nanoseconds.
    package func percentile(_ percent: Double) -> Int64 {
        guard moments.count > 0 else { return 0 }
        // The histogram answers with the upper end of a bucket, which may lie above the greatest value there was.
        return min(Int64(histogram.valueAtPercentile(percent)), max(moments.max, 0))
    }
}
