internal import Histogram

/// How values are spread: percentiles from a histogram that is exact to three digits, the rest from the values themselves.
///
/// Two distributions are added, which is what makes a percentile over several rounds or hosts right: the mean of the
/// rounds' percentiles would be no percentile of anything.
///
/// The counting and the percentiles are HdrHistogram's (G. Tene, hdrhistogram.org). Kept are only its buckets that hold
/// something: a whole one takes a quarter of a megabyte, and a result has hundreds.
package struct Distribution: Hashable, Sendable {
    /// A bucket that is not empty.
    package struct Bucket: Hashable, Sendable {
        /// The least value that falls into it, in nanoseconds.
        package let value: UInt64
        /// How many values fell into it.
        package fileprivate(set) var count: UInt64
    }

    /// Count, extremes, mean and standard deviation, in nanoseconds.
    package private(set) var moments = Moments()
    /// In ascending order of their values.
    package private(set) var buckets: [Bucket] = []

    /// The greatest value that percentiles tell apart: one hour.
    package static let greatest: UInt64 = 3_600_000_000_000

    /// The most values of a distribution that was saved: many can be added before a count is full.
    private static let most = 1 << 48

    package init() {}

    /// The distribution of some values, in nanoseconds. To the percentiles a negative one, as an early tick's, is 0.
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

    /// One that was saved; nil where its parts do not fit each other.
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

    /// Takes another distribution in. Linear in the buckets of both.
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

    /// The values that shares of all (in percent) do not exceed, in nanoseconds; zeroes where there are none.
    package func percentiles(_ percents: [Double]) -> [Int64] {
        guard moments.count > 0 else { return percents.map { _ in 0 } }
        let histogram = histogram
        // The answer is the upper end of a bucket, which may lie above the greatest value there was. The histogram was made
        // from the lower ends, and takes that of its last bucket for its greatest value.
        return percents.map { percent in
            let value = histogram.highestEquivalentForValue(histogram.valueAtPercentile(percent))
            return min(Int64(value), max(moments.max, 0))
        }
    }

    /// The value that a share of all (in percent) does not exceed, in nanoseconds.
    package func percentile(_ percent: Double) -> Int64 { percentiles([percent])[0] }

    /// The whole histogram.
    var histogram: Histogram<UInt64> {
        var histogram = Self.emptyHistogram
        for bucket in buckets { histogram.record(bucket.value, count: bucket.count) }
        return histogram
    }

    private static var emptyHistogram: Histogram<UInt64> {
        Histogram(highestTrackableValue: greatest, numberOfSignificantValueDigits: .three)
    }
}
