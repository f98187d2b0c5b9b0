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

        /// The buckets that have a duration, from the shortest to the longest.
        public private(set) var buckets: [Bucket]
        /// The sum of all durations.
        public private(set) var total: Duration
        /// The longest duration; nil if there is no duration. After ``since(_:)`` it may be the end of the last bucket.
        public private(set) var longest: Duration?

        /// How many durations there are.
        public private(set) var count: Int

        /// The mean duration; nil if there is no duration.
        public var mean: Duration? { count == 0 ? nil : total / count }

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
            guard let longest else { return nil }
            let rank = share < 1 ? Int((share * Double(count)).rounded(.up)) : count
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
            total = total.saturatingAdding(other.total)
            count = count.saturatingAdding(other.count)
            longest = [longest, other.longest].compactMap(\.self).max()
        }

        /// The durations without those of an earlier reading of the same histogram.
        public func since(_ earlier: Histogram) -> Histogram {
            var rest = self
            rest.buckets = combined(with: earlier) { $0 - min($0, $1) }
            rest.total = total > earlier.total ? total.saturatingSubtracting(earlier.total) : .zero
            rest.count = count - min(count, earlier.count)
            rest.longest = rest.buckets.last.map { min($0.upperBound, longest ?? $0.upperBound) }
            return rest
        }

        /// The buckets of both histograms, with a new count for each.
        private func combined(with other: Histogram, _ combine: (Int, Int) -> Int) -> [Bucket] {
            let (own, others) = (sizes, other.sizes)
            return Set(own.keys).union(others.keys).sorted()
                .map { Bucket(upperBound: $0, count: combine(own[$0] ?? 0, others[$0] ?? 0)) }
                .filter { $0.count > 0 }
        }

        /// The counts by the ends of their buckets. A decoded histogram may have a bucket twice.
        private var sizes: [Duration: Int] {
            Dictionary(buckets.map { ($0.upperBound, $0.count) }) { $0.saturatingAdding($1) }
        }
    }
}

extension Duration {
    /// The duration, rounded up to three digits: a bucket's end has more digits than it knows.
    var shortText: String {
        guard let nanoseconds = nanosecondsUnlessNegative, nanoseconds < .max else { return text }
        var step: UInt64 = 1
        while nanoseconds / step >= 1_000 { step *= 10 }
        return Duration(wholeNanoseconds: (nanoseconds + step - 1) / step * step).text
    }
}
