internal import TimerKernel

extension PreciseTimer.Statistics {
    /// Counts of durations in buckets, whose width is at most an eighth of their durations. A plain value.
    public struct Histogram: Equatable, Codable, Sendable, CustomStringConvertible {
        /// One bucket that has a duration.
        public struct Bucket: Equatable, Codable, Sendable {
            /// The longest duration that the bucket can have.
            public let upperBound: Duration
            /// How many durations it has.
            public let count: Int
        }

        /// The buckets that have a duration, from the shortest to the longest. Their counts add up to ``count``.
        public private(set) var buckets: [Bucket]
        /// The sum of all durations.
        public private(set) var total: Duration
        /// The longest duration; nil if there is no duration. After ``since(_:)`` it may be the end of the last bucket.
        public private(set) var longest: Duration?

        /// How many durations there are.
        public private(set) var count: Int

        /// The mean duration; nil if there is no duration.
        public var mean: Duration? {
            // If there are more durations than can be counted, the total is that of all.
            longest.map { min(total / count, $0) }
        }

        /// One line, as in `1200, 50 % at most 30 µs, 99 % at most 87 µs, the longest 120 µs`.
        public var description: String {
            guard let half = percentile(0.5), let most = percentile(0.99), let longest else { return "empty" }
            let (middle, end) = (half.shortText, most.shortText)
            return "\(count), 50 % at most \(middle), 99 % at most \(end), the longest \(longest.shortText)"
        }

        init(_ histogram: LogHistogram) {
            let (counts, indices) = (histogram.counts, 0..<LogHistogram.size)
            buckets = indices.filter { counts[$0] > 0 }
                .map {
                    Bucket(
                        upperBound: Duration(wholeNanoseconds: LogHistogram.greatest(in: $0)),
                        count: Int(clamping: counts[$0])
                    )
                }
            total = Duration(wholeNanoseconds: histogram.total)
            count = Int(clamping: histogram.count)
            longest = histogram.count == 0 ? nil : Duration(wholeNanoseconds: histogram.longest)
        }

        /// The duration that a share of all durations does not exceed, rounded up to the end of its bucket, by at most
        /// an eighth. O(n) for n buckets, which are at most 496.
        ///
        /// - Parameter share: 0.5 for the median, 0.99 for the 99th percentile; a value outside of 0 to 1, such
        ///   as 50, is a programming error.
        /// - Returns: the duration; nil if there is no duration.
        public func percentile(_ share: Double) -> Duration? {
            precondition((0...1).contains(share), "a share is from 0 to 1: 0.5 for the median, and not 50")
            guard let longest, share < 1 else { return longest }
            let rank = Int((share * Double(count)).rounded(.up))
            var seen = 0
            for bucket in buckets {
                seen = seen.saturatingAdding(bucket.count)
                if seen >= rank { return min(bucket.upperBound, longest) }
            }
            return longest
        }

        /// Adds the durations of another histogram. A sum that is too great to represent becomes the greatest.
        public mutating func merge(_ other: Histogram) {
            buckets = combined(with: other) { $0.saturatingAdding($1) }
            count = count.saturatingAdding(other.count)
            longest = [longest, other.longest].compactMap(\.self).max()
            // A count may have reached its end before the total does.
            total = min(total.saturatingAdding(other.total), most)
        }

        /// The durations without those of an earlier reading of the same histogram.
        public func since(_ earlier: Histogram) -> Histogram {
            var rest = self
            rest.buckets = combined(with: earlier) { $0 - min($0, $1) }
            rest.count = rest.buckets.reduce(0) { $0.saturatingAdding($1.count) }
            rest.longest = rest.buckets.last.map { min($0.upperBound, longest ?? $0.upperBound) }
            rest.total = total > earlier.total ? min(total.saturatingSubtracting(earlier.total), rest.most) : .zero
            return rest
        }

        /// The buckets of both histograms, with a new count for each.
        private func combined(with other: Histogram, _ combine: (Int, Int) -> Int) -> [Bucket] {
            let (own, others) = (sizes, other.sizes)
            return Set(own.keys).union(others.keys).sorted()
                .map { Bucket(upperBound: $0, count: combine(own[$0] ?? 0, others[$0] ?? 0)) }
                .filter { $0.count > 0 }
        }

        /// The counts by the ends of their buckets.
        private var sizes: [Duration: Int] {
            Dictionary(uniqueKeysWithValues: buckets.map { ($0.upperBound, $0.count) })
        }

        /// The greatest sum that the durations can have.
        private var most: Duration {
            buckets.reduce(.zero) { sum, bucket in
                let (product, overflow) = min(bucket.upperBound, longest ?? bucket.upperBound).attoseconds
                    .multipliedReportingOverflow(by: Int128(bucket.count))
                return sum.saturatingAdding(Duration(attoseconds: overflow ? .max : product))
            }
        }
    }
}

extension PreciseTimer.Statistics.Histogram {
    /// Decodes a histogram, if durations can have made it.
    ///
    /// - Throws: `DecodingError` if its parts contradict each other.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        buckets = try container.decode([Bucket].self, forKey: .buckets)
        total = try container.decode(Duration.self, forKey: .total)
        longest = try container.decodeIfPresent(Duration.self, forKey: .longest)
        count = try container.decode(Int.self, forKey: .count)
        let areInOrder = zip(buckets, buckets.dropFirst()).allSatisfy { $0.upperBound < $1.upperBound }
        let sum = buckets.reduce(0) { $0.saturatingAdding($1.count) }
        // The longest duration is in the last bucket.
        let end = longest.flatMap { $0 < .zero ? nil : Bucket.end(around: $0) }
        guard areInOrder, sum == count, end == buckets.last?.upperBound, (end == nil) == (longest == nil),
            total >= .zero, total <= most
        else { throw DecodingError.impossible("histogram", in: decoder) }
    }
}

extension PreciseTimer.Statistics.Histogram.Bucket {
    /// Decodes a bucket, if a histogram has such a bucket and it is not empty.
    ///
    /// - Throws: `DecodingError` if not.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        upperBound = try container.decode(Duration.self, forKey: .upperBound)
        count = try container.decode(Int.self, forKey: .count)
        guard count > 0, Self.end(around: upperBound) == upperBound else {
            throw DecodingError.impossible("bucket", in: decoder)
        }
    }

    /// The end of the bucket that a duration is in; nil if the duration is too long or negative.
    fileprivate static func end(around duration: Duration) -> Duration? {
        UInt64(exactly: duration.exactNanoseconds)
            .map { Duration(wholeNanoseconds: LogHistogram.greatest(in: LogHistogram.bucket(of: $0))) }
    }
}

extension DecodingError {
    /// No measurement can have made a value with such parts.
    static func impossible(_ value: String, in decoder: any Decoder) -> DecodingError {
        let words = "no measurement makes such a \(value): a number is out of range, or contradicts another"
        return .dataCorrupted(Context(codingPath: decoder.codingPath, debugDescription: words))
    }
}

extension Duration {
    /// The duration, rounded up to three digits: a bucket's end has more digits than it knows.
    var shortText: String { rounded(up: true).text }
}
