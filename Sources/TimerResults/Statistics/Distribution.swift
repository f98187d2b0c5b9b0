internal import Histogram

/// The spread of values: percentiles from a histogram that is exact to three digits, the rest from the values
/// themselves.
///
/// Distributions can be added. So a percentile over several rounds or hosts is right; the mean of the rounds'
/// percentiles would not be a percentile of anything.
///
/// The buckets are those of HdrHistogram (G. Tene, hdrhistogram.org), which writes ``percentileText``. Only the ones
/// that are not empty exist: a whole histogram takes a quarter of a megabyte, and a result has hundreds.
package struct Distribution: Hashable, Sendable {
    /// A bucket that is not empty.
    package struct Bucket: Hashable, Sendable {
        /// The lower end, in nanoseconds.
        package let value: UInt64
        package fileprivate(set) var count: UInt64

        /// The upper end.
        fileprivate var greatest: UInt64 { value | Self.rest(of: value) }

        /// The lower end of a value's bucket, which holds all values that have its first eleven binary digits.
        fileprivate static func lowest(of value: UInt64) -> UInt64 { value & ~rest(of: value) }

        /// All ones in the digits after the eleventh.
        private static func rest(of value: UInt64) -> UInt64 {
            let width = UInt64.bitWidth - value.leadingZeroBitCount
            return (1 << UInt64(Swift.max(width - 11, 0))) - 1
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
    /// O(n log n).
    package init(_ values: some Sequence<Int64>) {
        var ends: [UInt64] = []
        for value in values {
            moments.add(value)
            ends.append(Bucket.lowest(of: min(UInt64(max(value, 0)), Self.greatest)))
        }
        ends.sort()
        for end in ends {
            if buckets.last?.value != end { buckets.append(Bucket(value: end, count: 0)) }
            buckets[buckets.count - 1].count += 1
        }
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
        var histogram = Histogram<UInt64>(
            highestTrackableValue: Self.greatest,
            numberOfSignificantValueDigits: .three
        )
        for bucket in buckets { histogram.record(bucket.value, count: bucket.count) }
        return histogram
    }
}

/// The form in files: the moments, and the buckets in one line of text, `value:count` with spaces between. A person can
/// still read a file with hundreds of distributions.
extension Distribution: Codable {
    private enum CodingKeys: String, CodingKey {
        case moments
        case buckets
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let moments = try container.decode(Moments.self, forKey: .moments)
        let texts = try container.decode(String.self, forKey: .buckets).split(separator: " ")
        let buckets = texts.compactMap(Bucket.init)
        guard buckets.count == texts.count, let distribution = Distribution(moments, buckets) else {
            throw DecodingError.dataCorruptedError(
                forKey: .buckets,
                in: container,
                debugDescription: "the buckets do not add up to \(moments.count) values"
            )
        }
        self = distribution
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(moments, forKey: .moments)
        try container.encode(buckets.map(\.text).joined(separator: " "), forKey: .buckets)
    }
}

extension Distribution.Bucket {
    fileprivate init?(_ text: Substring) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let value = UInt64(parts[0]), let count = UInt64(parts[1]) else { return nil }
        self.init(value: value, count: count)
    }

    fileprivate var text: String { "\(value):\(count)" }
}

/// Count, extremes, mean and standard deviation of a series, without keeping it.
///
/// Mean and squares are updated by each value's distance from the mean (B. P. Welford, "Note on a method for
/// calculating corrected sums of squares and products", 1962), so that no large sums cancel.
package struct Moments: Codable, Hashable, Sendable {
    package private(set) var count = 0
    /// The least value; 0 without values.
    package private(set) var min: Int64 = 0
    /// The greatest value; 0 without values.
    package private(set) var max: Int64 = 0
    /// The mean; 0 without values.
    package private(set) var mean = 0.0
    /// The sum of the squared distances from the mean.
    private var squares = 0.0

    private enum CodingKeys: String, CodingKey {
        case count
        case min
        case max
        case mean
        case squares = "squared_distances"
    }

    package init() {}

    /// Adds a value. Constant time.
    package mutating func add(_ value: Int64) {
        min = count == 0 ? value : Swift.min(min, value)
        max = count == 0 ? value : Swift.max(max, value)
        count += 1
        let distance = Double(value) - mean
        mean += distance / Double(count)
        squares += distance * (Double(value) - mean)
    }

    /// Adds another series, as if its values had been added here. Constant time.
    package mutating func add(_ other: Moments) {
        guard other.count > 0 else { return }
        guard count > 0 else {
            self = other
            return
        }
        min = Swift.min(min, other.min)
        max = Swift.max(max, other.max)
        let (here, there) = (Double(count), Double(other.count))
        let distance = other.mean - mean
        mean += distance * there / (here + there)
        squares += other.squares + distance * distance * here * there / (here + there)
        count += other.count
    }

    /// Whether a series can have these moments. Moments from a file may be damaged.
    var isSound: Bool {
        // Rounding can put the mean of equal values beyond them.
        let slack = 1e-6 * Double(Swift.max(min.magnitude, max.magnitude))
        return count >= 0 && min <= max && squares >= 0 && squares.isFinite
            && (Double(min) - slack...Double(max) + slack).contains(mean)
    }

    /// The standard deviation of the values themselves; 0 without values.
    package var standardDeviation: Double { count == 0 ? 0 : (squares / Double(count)).squareRoot() }
}
