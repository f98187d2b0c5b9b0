import Foundation
import ResultsSupport
import Testing
import TimerResults

@Suite struct ComparingTests {
    /// Normally distributed numbers: mean 0, standard deviation 1 (Box and Muller, 1958).
    private struct Noise {
        var generator: SplitMix64

        mutating func next() -> Double {
            let radius = (-2 * log(Double(generator.next() >> 11) / 0x1p53 + 0x1p-54)).squareRoot()
            return radius * cos(2 * Double.pi * Double(generator.next() >> 11) / 0x1p53)
        }
    }

    /// Ratios of two rows: the first's lateness is a multiple of the second's, and each has its own noise.
    private func ratios(_ factor: Double, rounds: Int = 12, seed: UInt64) -> [Double] {
        var noise = Noise(generator: SplitMix64(seed: seed))
        return (0..<rounds).map { _ in factor * exp(0.03 * noise.next()) / exp(0.03 * noise.next()) }
    }

    /// The same as results. The machine slows both rows of a round alike.
    private func results(_ factor: Double, rounds: Int = 10) -> Results {
        var noise = Noise(generator: SplitMix64(seed: 3))
        return Synthetic.results(
            (0..<rounds)
                .map { _ in
                    let machine = 60_000 * exp(0.5 * noise.next())
                    return [("timerfd", factor), ("dispatch", 1)]
                        .map { row, factor in
                            let ticks = (0..<20).map { _ in Int64(machine * factor * exp(0.03 * noise.next())) }
                            return Synthetic.cell(Synthetic.key(row), ticks)
                        }
                }
        )
    }

    @Test func equalRowsAreIndistinguishable() {
        let verdicts = (1...20).map { Comparing(ratios: ratios(1, seed: $0)).verdict }
        #expect(verdicts.count { $0 == .indistinguishable } >= 19)
    }

    @Test func aDifferenceOfOneTenthHasTheRightDirection() {
        for seed in 1...20 as ClosedRange<UInt64> {
            #expect(Comparing(ratios: ratios(0.9, seed: seed)).verdict == .faster)
            #expect(Comparing(ratios: ratios(1.1, seed: seed)).verdict == .slower)
        }
    }

    @Test func fewRoundsAreIndistinguishable() {
        #expect(Comparing(ratios: ratios(0.1, rounds: 7, seed: 1)).verdict == .indistinguishable)
        #expect(Comparing(ratios: ratios(0.1, rounds: 8, seed: 1)).verdict == .faster)
        #expect(Comparing(ratios: []).verdict == .indistinguishable)
        #expect(Comparing(ratios: []).interval == nil)
    }

    @Test func oneOutlierInTwelveRoundsDoesNotChangeTheVerdict() {
        let equal = [0.9, 0.91, 0.89, 0.9, 0.92, 0.88, 0.9, 0.9, 0.91]
        #expect(Comparing(ratios: equal + [0.9, 0.91, 30]).verdict == .faster)
        #expect(Comparing(ratios: (equal + [0.9, 0.91, 30]).map { 1 / $0 }).verdict == .slower)
        // Of ten rounds, chance gives that in one of fifty series: more often than in one of a hundred.
        #expect(Comparing(ratios: equal + [30]).verdict == .indistinguishable)
        #expect(Comparing(ratios: equal + [0.9]).verdict == .faster)
    }

    @Test func equalRowsAreRarelyFasterOrSlower() {
        for rounds in [8, 10, 12] {
            let verdicts = (1...150).map { Comparing(ratios: ratios(1, rounds: rounds, seed: $0)).verdict }
            #expect(verdicts.count { $0 != .indistinguishable } <= 3, "\(rounds) rounds")
        }
    }

    @Test func theSignTestEqualsTheBinomialSum() {
        let known: [(few: Int, all: Int, chance: Double)] = [
            (0, 1, 1), (0, 8, 2 / 256), (1, 10, 22 / 1024), (1, 12, 26 / 4096), (5, 10, 1),
        ]
        for (few, all, chance) in known {
            #expect(abs(SignTest.chance(ofAtMost: few, of: all) - chance) < 1e-12)
        }
        #expect(SignTest.chance(ofAtMost: 0, of: 1000) > 0)
    }

    @Test func aSlowRoundOfTheMachineCancelsOut() throws {
        let pairs = Report(results(0.9)).pairs
        #expect(pairs.map(\.percentile) == [.p50, .p99])
        let pair = try #require(pairs.first)
        #expect(pair.first.row == "timerfd")
        #expect(pair.second.row == "dispatch")
        #expect(pair.verdict == .faster)
        #expect(abs(pair.ratio - 0.9) < 0.03)
        #expect(pair.low <= pair.ratio && pair.ratio <= pair.high)
        let reversed = Report(results(1 / 0.9)).pairs.first
        #expect(reversed?.verdict == .slower)
    }

    @Test func equalValuesHaveEqualIntervals() throws {
        let values = ratios(1, seed: 9)
        let interval = try #require(Bootstrap.interval(ofMedian: values, share: 0.99))
        #expect(Bootstrap.interval(ofMedian: values, share: 0.99) == interval)
        let narrow = try #require(Bootstrap.interval(ofMedian: values, share: 0.5))
        #expect(interval.lowerBound < narrow.lowerBound && narrow.upperBound < interval.upperBound)
        #expect(Bootstrap.interval(ofMedian: [2, 2, 2], share: 0.99) == 2...2)
        #expect(Bootstrap.interval(ofMedian: [], share: 0.99) == nil)
    }

    @Test func aBackendIsPairedWithBackendsAndItsOwnPeers() {
        let (timerFD, dispatch) = (Synthetic.key("timerfd"), Synthetic.key("dispatch"))
        let source = Synthetic.key("peer-dispatch-source", .peer)
        let floor = Synthetic.key("floor-timerfd", .reference)
        #expect(PairReport.isOfInterest(timerFD, dispatch))
        #expect(PairReport.isOfInterest(dispatch, source))
        #expect(!PairReport.isOfInterest(timerFD, source))
        #expect(!PairReport.isOfInterest(timerFD, floor))
        #expect(!PairReport.isOfInterest(timerFD, timerFD))
        #expect(!PairReport.isOfInterest(timerFD, Synthetic.key("dispatch", load: "cpu:2")))
    }

    @Test func splitMix64GivesTheKnownNumbers() {
        var generator = SplitMix64(seed: 1_234_567)
        let numbers = (0..<3).map { _ in generator.next() }
        #expect(numbers == [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423])
    }
}
