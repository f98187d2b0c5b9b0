/// The spread of latenesses: how many lie in each of many narrow buckets.
///
/// A bucket holds all values with the same first six binary digits, so it is at most 1/32 wide, and its middle is less
/// than 2 % from each of its values: two digits are shown. Histograms can be added, so a percentile over many turns is
/// right. A mean of the turns' percentiles would be a percentile of nothing. Only buckets with values exist.
struct SparseHistogram: Hashable, Sendable {
    struct Bucket: Hashable, Sendable {
        /// The lower end, in nanoseconds.
        let lowest: UInt64
        fileprivate(set) var count: UInt64

        /// The middle, in nanoseconds.
        var middle: Double { Double(lowest) + Double(SparseHistogram.rest(of: lowest)) / 2 }
    }

    /// In ascending order of their values.
    private(set) var buckets: [Bucket] = []
    /// The number of values.
    private(set) var count: UInt64 = 0

    /// The greatest value that is kept apart from others, in nanoseconds: one hour.
    static let greatest: UInt64 = 3_600_000_000_000
    /// The most values of a histogram from a file: many such histograms can be added before a count overflows.
    private static let most: UInt64 = 1 << 48

    init() {}

    /// The histogram of some nanoseconds. A negative value, as of an early tick, counts as 0. O(*n* log *n*).
    init(_ values: some Sequence<Int64>) {
        for lowest in values.map({ Self.lowest(of: min(UInt64(max($0, 0)), Self.greatest)) }).sorted() {
            if buckets.last?.lowest != lowest { buckets.append(Bucket(lowest: lowest, count: 0)) }
            buckets[buckets.count - 1].count += 1
            count += 1
        }
    }

    /// The sum of some histograms.
    init(sumOf histograms: some Sequence<SparseHistogram>) {
        var sums: [UInt64: UInt64] = [:]
        for bucket in histograms.lazy.flatMap(\.buckets) { sums[bucket.lowest, default: 0] += bucket.count }
        buckets = sums.map { Bucket(lowest: $0, count: $1) }.sorted { $0.lowest < $1.lowest }
        count = buckets.reduce(0) { $0 + $1.count }
    }

    /// Nanoseconds within which a share of the values lies, in percent; 0 without values.
    func percentile(_ percent: Double) -> Double {
        // A rounding error must not lead into the next bucket.
        let wanted = max(1, (percent.nextDown * Double(count) / 100).rounded(.up))
        var sum = 0.0
        for bucket in buckets {
            sum += Double(bucket.count)
            if sum >= wanted { return bucket.middle }
        }
        return 0
    }

    /// The number of values below which a percentile has no meaning: one value of fewer than a hundred is no p99.
    static func fewest(for percent: Double) -> UInt64 {
        percent > 50 ? UInt64((100 / (100 - percent)).rounded()) : 1
    }

    private static func lowest(of value: UInt64) -> UInt64 { value & ~rest(of: value) }

    /// Ones in all digits after the sixth.
    private static func rest(of value: UInt64) -> UInt64 {
        let digits = UInt64.bitWidth - value.leadingZeroBitCount
        return (1 << UInt64(max(digits - 6, 0))) - 1
    }
}

/// The form in files: `39424:3 40448`, the lower end and the count of each bucket; no count is one.
extension SparseHistogram {
    var text: String {
        buckets.map { $0.count == 1 ? "\($0.lowest)" : "\($0.lowest):\($0.count)" }.joined(separator: " ")
    }

    /// Reads a text; nil if no measurement can have written it.
    init?(_ text: some StringProtocol) {
        for part in text.split(separator: " ") {
            let numbers = part.split(separator: ":", omittingEmptySubsequences: false).map { UInt64($0) }
            guard (1...2).contains(numbers.count), let lowest = numbers[0],
                let number = numbers.count == 1 ? 1 : numbers[1], number > 0, lowest <= Self.greatest,
                lowest == Self.lowest(of: lowest), number <= Self.most,
                buckets.last.map({ $0.lowest < lowest }) ?? true
            else { return nil }
            buckets.append(Bucket(lowest: lowest, count: number))
            count += number
            guard count <= Self.most else { return nil }
        }
    }
}
