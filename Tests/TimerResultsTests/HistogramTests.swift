import Testing
import TimerResults

@Suite struct HistogramTests {
    /// Latenesses over six decades.
    private func some(_ count: Int, seed: UInt64) -> [Int64] {
        var generator = SplitMix64(seed: seed)
        return (0..<count).map { _ in Int64(generator.next() % 1000) << Int64(generator.next() % 20) }
    }

    @Test func percentilesOfKnownValuesAreRightToTwoPercent() {
        let histogram = Histogram((1...100_000).map { Int64($0) })
        for percent in [1, 50, 90, 99, 99.9, 100] {
            #expect(abs(histogram.percentile(percent) / (1000 * percent) - 1) < 0.02, "\(percent)")
        }
    }

    @Test func percentilesOfManyTurnsAreThoseOfAllDeadlines() {
        // The mean of the turns' p99 would be 5,050.
        let turns = [Histogram(Array(repeating: 100, count: 990)), Histogram(Array(repeating: 10_000, count: 10))]
        #expect(Histogram(sumOf: turns).percentile(99) == 100.5)
        #expect(Histogram(sumOf: turns).count == 1000)
        #expect(Histogram(sumOf: turns.reversed()) == Histogram(sumOf: turns))
    }

    @Test func extremesAreClamped() {
        #expect(Histogram([-5, 10]).percentile(50) == 0)
        #expect(Histogram([.max]).percentile(50) >= 3_500_000_000_000)
        #expect(Histogram().percentile(50) == 0)
    }

    @Test func aPercentileTakesSomeDeadlines() {
        #expect([50, 90, 99, 99.9].map { Histogram.fewest(for: $0) } == [1, 10, 100, 1000])
    }

    @Test(arguments: [[], [0], [-5, 10], [1, 1, 1], [.max], [39_424, 39_425, 80_000]] as [[Int64]])
    func aSavedHistogramIsReadAgain(values: [Int64]) throws {
        let histogram = Histogram(values)
        #expect(Histogram(histogram.text) == histogram)
    }

    @Test func aWideHistogramIsReadAgain() throws {
        let histogram = Histogram(some(5000, seed: 5))
        #expect(Histogram(histogram.text) == histogram)
    }

    @Test(arguments: [
        "5:0", "7 5", "5 5", "5:2 x", "5: 7", "-5", "5:-1", "5:99999999999999999999", "5:18446744073709551615",
        "3600000000001", "5:1:1", "5.0", "5,7", "129", "5:281474976710657",
    ])
    func hostileTextsAreRefused(text: String) { #expect(Histogram(text) == nil) }
}
