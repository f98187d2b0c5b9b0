import Foundation
import Testing
import TimerResults

@Suite struct DistributionTests {
    @Test func percentilesOfKnownValuesAreRightToThreeDigits() {
        let distribution = Distribution((1...100_000).map { Int64($0) })
        for (percent, expected) in [(50.0, 50_000.0), (90, 90_000), (99, 99_000), (99.9, 99_900), (100, 100_000)] {
            let value = Double(distribution.percentile(percent))
            #expect(abs(value - expected) <= expected / 1000)
        }
    }

    @Test func aPercentileIsNeverBeyondTheGreatestValue() {
        let distribution = Distribution([1_000_001, 1_000_001])
        #expect(distribution.percentile(99.9) == 1_000_001)
    }

    @Test func percentilesOfAddedRoundsAreThoseOfAllTicks() {
        // The mean of the rounds' p99 would be 5,050.
        var rounds = Distribution(Array(repeating: 100, count: 990))
        rounds.add(Distribution(Array(repeating: 10_000, count: 10)))
        #expect(rounds.percentile(99) == 100)
        #expect(rounds.moments.count == 1000)
        #expect(rounds.moments.max == 10_000)
    }

    @Test func anEarlyTickIsZeroInPercentilesAndNegativeInTheMinimum() {
        let distribution = Distribution([-5, 10])
        #expect(distribution.percentile(50) == 0)
        #expect(distribution.moments.min == -5)
    }

    @Test func latenessBeyondAnHourCountsAsTheGreatest() {
        let distribution = Distribution([Int64.max])
        #expect(distribution.moments.max == Int64.max)
        #expect(distribution.percentile(50) >= 3_600_000_000_000)
    }

    @Test func anEmptyDistributionHasZeroes() {
        let distribution = Distribution([])
        #expect(distribution.percentile(50) == 0)
        #expect(distribution.moments.standardDeviation == 0)
    }

    /// Latenesses over six decades.
    private func some(_ count: Int, seed: UInt64) -> [Int64] {
        var generator = SplitMix64(seed: seed)
        return (0..<count).map { _ in Int64(generator.next() % 1000) << Int64(generator.next() % 20) }
    }

    /// A line of the text has a value in µs, the percentile, the number of values up to it, and another ratio.
    @Test func percentilesAreThoseThatHdrHistogramWrites() {
        let distribution = Distribution(some(5_000, seed: 6))
        let lines = distribution.percentileText.split(separator: "\n")
            .map { line in line.split(separator: " ").compactMap { Double($0) } }
            .filter { $0.count == 4 }
        #expect(lines.count > 50)
        let differing = lines.filter { line in
            // It writes a bucket's upper end, even beyond the greatest value.
            let value = min(Int64((line[0] * 1000).rounded()), distribution.moments.max)
            return value != distribution.percentile(line[1] * 100)
        }
        #expect(differing == [])
    }

    @Test func distributionsAreAddedInAnyOrder() {
        let values = [some(300, seed: 1), some(50, seed: 2), some(0, seed: 3), some(777, seed: 4)]
        let all = Distribution(values.joined())
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
            var sum = Distribution()
            for part in order { sum.add(Distribution(values[part])) }
            #expect(sum.buckets == all.buckets)
            #expect(sum.moments.count == 1127)
            #expect(sum.moments.min == all.moments.min)
            #expect(sum.moments.max == all.moments.max)
            #expect(abs(sum.moments.mean / all.moments.mean - 1) < 1e-9)
            #expect([1, 50, 99, 100].map(sum.percentile) == [1, 50, 99, 100].map(all.percentile))
        }
    }

    @Test(arguments: [[], [0], [-5, 10], [1, 1, 1], [.max]] as [[Int64]])
    func aSavedDistributionIsReadAgain(values: [Int64]) throws {
        let distribution = Distribution(values)
        #expect(try JSONDecoder().decode(Distribution.self, from: JSONEncoder().encode(distribution)) == distribution)
    }

    @Test func aWideDistributionIsReadAgain() throws {
        let distribution = Distribution(some(500, seed: 5))
        #expect(try JSONDecoder().decode(Distribution.self, from: JSONEncoder().encode(distribution)) == distribution)
    }

    /// A distribution of two values, with the given buckets.
    private func decode(_ buckets: String, moments: String? = nil) throws -> Distribution {
        let moments = moments ?? #"{"count":2,"min":5,"max":7,"mean":6,"squared_distances":2}"#
        let text = #"{"moments":\#(moments),"buckets":"\#(buckets)"}"#
        return try JSONDecoder().decode(Distribution.self, from: Data(text.utf8))
    }

    @Test func soundTextIsRead() throws {
        #expect(try decode("5:1 7:1") == Distribution([5, 7]))
    }

    @Test(arguments: [
        "", "5:1", "5:1 7:2", "5:1 7:0 8:1", "7:1 5:1", "5:1 5:1", "5:2 x", "5:1 7:1 7", "5 7", "5: 7:1", "-5:1 7:1",
        "5:-1 7:3", "5:1 7:99999999999999999999", "5:3 7:18446744073709551615", "5:1 3600000000001:1", "6:1 7:1",
        "5:1 8:1", "5:1:1 7:1", "5.0:1 7:1", "5:1,7:1",
    ])
    func hostileBucketsAreRefused(text: String) {
        #expect(throws: DecodingError.self) { try decode(text) }
    }

    @Test(arguments: [
        #"{"count":-2,"min":5,"max":7,"mean":6,"squared_distances":2}"#,
        #"{"count":2,"min":7,"max":5,"mean":6,"squared_distances":2}"#,
        #"{"count":2,"min":5,"max":7,"mean":8,"squared_distances":2}"#,
        #"{"count":2,"min":5,"max":7,"mean":6,"squared_distances":-2}"#,
        #"{"count":2,"min":5,"max":7,"mean":1e999,"squared_distances":2}"#,
        #"{"count":1e30,"min":5,"max":7,"mean":6,"squared_distances":2}"#,
        #"{"count":2,"min":5,"max":99999999999999999999,"mean":6,"squared_distances":2}"#,
    ])
    func hostileMomentsAreRefused(moments: String) {
        #expect(throws: DecodingError.self) { try decode("5:1 7:1", moments: moments) }
    }

    @Test func meanAndDeviationOfKnownValues() {
        var moments = Moments()
        for value in [2, 4, 4, 4, 5, 5, 7, 9] as [Int64] { moments.add(value) }
        #expect(moments.mean == 5)
        #expect(moments.standardDeviation == 2)
    }

    @Test func addedMomentsEqualTheMomentsOfAllValues() {
        var (first, second, all) = (Moments(), Moments(), Moments())
        for value in [2, 4, 4, 100] as [Int64] {
            first.add(value)
            all.add(value)
        }
        for value in [-7, 5, 9] as [Int64] {
            second.add(value)
            all.add(value)
        }
        var sum = Moments()
        sum.add(first)
        sum.add(second)
        sum.add(Moments())
        #expect(sum.count == all.count)
        #expect(sum.min == -7)
        #expect(sum.max == 100)
        #expect(abs(sum.mean - all.mean) < 1e-9)
        #expect(abs(sum.standardDeviation - all.standardDeviation) < 1e-9)
    }
}
