internal import TimerCore

extension PreciseTimer.Statistics {
    /// Counts of durations in buckets, whose width is at most an eighth of their durations. A plain value.
    public struct Histogram: Hashable, Codable, Sendable {
        /// One bucket that has a duration.
        public struct Bucket: Hashable, Codable, Sendable {
            /// The longest duration that the bucket can have.
            public let upTo: Duration
            /// How many durations it has.
            public let count: UInt64
        }

        /// The buckets that have a duration, from the shortest to the longest.
        public private(set) var buckets: [Bucket]
        /// The sum of all durations.
        public private(set) var total: Duration
        /// The longest duration; nil if there is no duration. After ``since(_:)`` it may be the end of the last bucket.
        public private(set) var longest: Duration?

        /// How many durations there are.
        public private(set) var count: UInt64

        /// The mean duration; nil if there is no duration.
        public var mean: Duration? { count == 0 ? nil : total / count }

        init(_ histogram: LogHistogram) {
            let (counts, indices) = (histogram.counts, 0..<LogHistogram.size)
            buckets = indices.filter { counts[$0] > 0 }
                .map { Bucket(upTo: Duration(wholeNanoseconds: LogHistogram.greatest(in: $0)), count: counts[$0]) }
            total = Duration(wholeNanoseconds: histogram.total)
            count = histogram.count
            longest = histogram.count == 0 ? nil : Duration(wholeNanoseconds: histogram.longest)
        }

        /// The duration that a share of all durations does not exceed, rounded up to the end of its bucket, by at most
        /// an eighth. O(n) for n buckets, which are at most 496.
        ///
        /// - Parameter share: 0.5 for the median, 0.99 for the 99th percentile; values outside of 0 to 1 are taken as
        ///   the nearer end.
        /// - Returns: the duration; nil if there is no duration.
        public func percentile(_ share: Double) -> Duration? {
            guard let longest else { return nil }
            // Not a number counts as the end, as does 1.
            let rank = share < 1 ? UInt64((max(share, 0) * Double(count)).rounded(.up)) : count
            var seen: UInt64 = 0
            for bucket in buckets {
                seen = seen.saturatingAdding(bucket.count)
                if seen >= max(rank, 1) { return min(bucket.upTo, longest) }
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
            if longest == earlier.longest {
                rest.longest = rest.buckets.last.map { min($0.upTo, longest ?? $0.upTo) }
            }
            return rest
        }

        /// The buckets of both histograms, with a new count for each.
        private func combined(with other: Histogram, _ combine: (UInt64, UInt64) -> UInt64) -> [Bucket] {
            var counts: [Duration: (own: UInt64, other: UInt64)] = [:]
            func add(_ count: UInt64, to sum: inout UInt64) { sum = sum.saturatingAdding(count) }
            // Decoded histograms may have a bucket twice.
            for bucket in buckets { add(bucket.count, to: &counts[bucket.upTo, default: (0, 0)].own) }
            for bucket in other.buckets { add(bucket.count, to: &counts[bucket.upTo, default: (0, 0)].other) }
            return counts.map { Bucket(upTo: $0.key, count: combine($0.value.own, $0.value.other)) }
                .filter { $0.count > 0 }
                .sorted { $0.upTo < $1.upTo }
        }
    }
}
