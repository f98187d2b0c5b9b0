internal import Histogram

/// The spread of values: percentiles from a histogram that is exact to three digits, the rest from the values
/// themselves.
///
/// Distributions can be added. So a percentile over several rounds or hosts is right; the mean of the rounds'
/// percentiles would not be a percentile of anything.
///
/// HdrHistogram counts and finds the percentiles (G. Tene, hdrhistogram.org). Only its non-empty buckets are kept: a
/// whole histogram takes a quarter of a megabyte, and a result has hundreds.
package struct Distribution: Hashable, Sendable {
    /// A bucket that is not empty.
    package struct Bucket: Hashable, Sendable {
        /// The lower end, in nanoseconds.
        package let value: UInt64
        package fileprivate(set) var count: UInt64

        /// The upper end: a bucket holds all values that have its first eleven binary digits.
        fileprivate var greatest: UInt64 {
            let width = UInt64.bitWidth - value.leadingZeroBitCount
            return value | ((1 << UInt64(Swift.max(width - 11, 0))) - 1)
        }
    }

    /// Count, extremes, mean and standard deviation, in nanoseconds.
    package private(set) var moments = Moments()
    /// In ascending order of their values.
    package private(set) var buckets: [Bucket] = []

    /// The greatest value that percentiles can tell apart, in nanoseconds: one hour.
    package static let greatest: UInt64 = 3_600_000_000_000

    /// The most values of a distribution from a file: many of them can be added before a count overflows.
    private static let most = 1 << 48

    package init() {}

    /// The distribution of values in nanoseconds. Percentiles count a negative value, as of an early tick, as 0.
    package init(_ values: some Sequence<Int64>) {
        var histogram = Self.emptyHistogram
        for value in values {
            moments.add(value)
            histogram.record(min(UInt64(max(value, 0)), Self.greatest))
        }
        guard moments.count > 0 else { return }
        buckets = histogram.recordedValues()
            .map { Bucket(value: histogram.lowestEquivalentForValue($0.value), count: $0.count) }
    }

    /// A distribution from a file; nil if its parts contradict each other.
    init?(_ moments: Moments, _ buckets: [Bucket]) {
        let ascending = zip(buckets, buckets.dropFirst()).allSatisfy { $0.value < $1.value }
        var sum: UInt64 = 0
        for bucket in buckets {
            let (next, overflow) = sum.addingReportingOverflow(bucket.count)
            guard !overflow, bucket.count > 0, bucket.value <= Self.greatest else { return nil }
            sum = next
        }
        guard ascending, moments.isSound, (0...Self.most).contains(moments.count), sum == UInt64(moments.count),
            buckets.first?.value ?? 0 <= max(moments.min, 0), buckets.last?.value ?? 0 <= max(moments.max, 0)
        else { return nil }
        self.moments = moments
        self.buckets = buckets
    }

    /// Adds another distribution. Linear in the buckets of both.
    package mutating func add(_ other: Distribution) {
        moments.add(other.moments)
        guard !other.buckets.isEmpty else { return }
        var sum: [Bucket] = []
        sum.reserveCapacity(buckets.count + other.buckets.count)
        var (here, there) = (buckets[...], other.buckets[...])
        while let first = here.first, let second = there.first {
            if first.value <= second.value { sum.append(here.removeFirst()) }
            guard second.value <= first.value else { continue }
            there.removeFirst()
            if first.value == second.value { sum[sum.count - 1].count += second.count } else { sum.append(second) }
        }
        buckets = sum + here + there
    }

    /// The percentile for a percent, in nanoseconds: the upper end of its bucket, but at most the greatest value. 0
    /// without values. It is HdrHistogram's percentile, without its histogram. Linear in the buckets.
    package func percentile(_ percent: Double) -> Int64 {
        // One step below the percent, so that a rounding error does not lead into the next bucket.
        let wanted = Swift.max(1, UInt64((percent.nextDown * Double(moments.count) / 100).rounded(.up)))
        var count: UInt64 = 0
        for bucket in buckets {
            count += bucket.count
            if count >= wanted { return Swift.min(Int64(bucket.greatest), Swift.max(moments.max, 0)) }
        }
        return 0
    }

    /// The percentiles in µs as text, in the format that HdrHistogram's tools write and plot.
    package var percentileText: String {
        var text = ""
        histogram.outputPercentileDistribution(
            to: &text,
            outputValueUnitScalingRatio: 1000,
            percentileTicksPerHalfDistance: 5
        )
        return text
    }

    private var histogram: Histogram<UInt64> {
        var histogram = Self.emptyHistogram
        for bucket in buckets { histogram.record(bucket.value, count: bucket.count) }
        return histogram
    }

    private static var emptyHistogram: Histogram<UInt64> {
        Histogram(highestTrackableValue: greatest, numberOfSignificantValueDigits: .three)
    }
}
