import PreciseTimer
import Testing

/// Every length has a bucket, and the buckets leave no gap and are narrow.
struct LogHistogramTests {
    @Test func aLengthLiesInItsBucket() {
        let powers = (3..<64).flatMap { [1 << $0 - 1, 1 << $0, 1 << $0 + 1] as [UInt64] }
        for length in [0, 1, 6, 7, 8, 9, 15, 16, 17, .max - 1, .max] + powers {
            #expect(isInItsBucket(length), "\(length)")
        }
    }

    @Test(arguments: 0..<2)
    func aRandomLengthLiesInItsBucket(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<10_000 {
            let length = randomLength(&random)
            if !isInItsBucket(length) { Issue.record("\(length)") }
        }
    }

    @Test func bucketsAreContiguousFromZeroToTheLastNumber() {
        #expect(LogHistogram.bucket(of: 0) == 0)
        #expect(LogHistogram.greatest(in: 0) == 0)
        for bucket in 1..<LogHistogram.size {
            let (before, last) = (LogHistogram.greatest(in: bucket - 1), LogHistogram.greatest(in: bucket))
            #expect(before < last)
            #expect(LogHistogram.bucket(of: before + 1) == bucket)
            #expect(LogHistogram.bucket(of: last) == bucket)
        }
        #expect(LogHistogram.greatest(in: LogHistogram.size - 1) == UInt64.max)
    }

    @Test func aBucketIsAtMostAnEighthAsWideAsItsLengths() {
        for bucket in 1..<LogHistogram.size {
            let first = LogHistogram.greatest(in: bucket - 1) + 1
            // The width of a bucket is one more than the distance between its ends.
            let distance = LogHistogram.greatest(in: bucket) - first
            #expect(first < 8 ? distance == 0 : distance < first / 8, "bucket \(bucket)")
        }
    }

    @Test func lengthsAreCountedInTheirBuckets() {
        var (histogram, random) = (LogHistogram(), SeededGenerator(seed: 3))
        var (counts, total, longest) = ([Int: UInt64](), UInt64(0), UInt64(0))
        for _ in 0..<5_000 {
            let length = randomLength(&random) >> 16
            histogram.add(length)
            counts[LogHistogram.bucket(of: length), default: 0] += 1
            total += length
            longest = max(longest, length)
        }
        #expect(histogram.count == 5_000)
        #expect(histogram.total == total)
        #expect(histogram.longest == longest)
        let differing = (0..<LogHistogram.size).filter { histogram.counts[$0] != counts[$0] ?? 0 }
        #expect(differing == [])
    }

    @Test func anEmptyHistogramHasNoLengths() {
        let histogram = LogHistogram()
        #expect((0..<LogHistogram.size).allSatisfy { histogram.counts[$0] == 0 })
        #expect(histogram.count == 0 && histogram.total == 0 && histogram.longest == 0)
    }

    @Test func aTotalThatCannotBeRepresentedSaturates() {
        var histogram = LogHistogram()
        histogram.add(.max)
        histogram.add(7)
        #expect(histogram.total == UInt64.max)
        #expect(histogram.longest == UInt64.max)
        #expect(histogram.count == 2)
    }

    /// Whether a length is at most the end of its bucket, and above the end of the bucket before.
    private func isInItsBucket(_ length: UInt64) -> Bool {
        let bucket = LogHistogram.bucket(of: length)
        guard (0..<LogHistogram.size).contains(bucket) else { return false }
        let isAboveTheLast = bucket == 0 || length > LogHistogram.greatest(in: bucket - 1)
        return isAboveTheLast && length <= LogHistogram.greatest(in: bucket)
    }

    /// A length of any magnitude, short ones as likely as long ones.
    private func randomLength(_ random: inout SeededGenerator) -> UInt64 {
        random.next() >> UInt64.random(in: 0...63, using: &random)
    }
}
