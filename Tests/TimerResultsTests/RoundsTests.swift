import Foundation
import ResultsSupport
import TestSupport
import Testing
import TimerResults

/// Intervals of tails, shares and prices, and verdicts by p99.
@Suite struct RoundsTests {
    /// Turns in moods: the machine is slow for some laps, for all rows alike, and in one turn of 25 it stalls for five
    /// deadlines.
    private func turns(_ laps: Int, seed: UInt64, on machine: UInt64 = 0, tail: Double = 0, share: Double = 0) -> [Turn]
    {
        var (random, moods, mood) = (SplitMix64(seed: seed), SplitMix64(seed: machine &+ 99), 1.0)
        return (0..<laps)
            .map { _ in
                mood = max(0.5, min(3, mood * .random(in: 0.9..<1.12, using: &moods)))
                var latenesses = (0..<20)
                    .map { _ in
                        let isLate = Double.random(in: 0..<1, using: &random) < share
                        return Int64(mood * .random(in: 20_000..<60_000, using: &random) + (isLate ? tail : 0))
                    }
                if Int.random(in: 0..<25, using: &random) == 0 {
                    for place in 0..<5 { latenesses[place] += Int64(5 - place) * 100_000 }
                }
                return Synthetic.turn(latenesses)
            }
    }

    private func verdict(_ first: [Turn], _ second: [Turn]) -> Ratio.Verdict? {
        Rounds(first).ratio(to: Rounds(second), 99)?.verdict
    }

    /// Fault 4: +800 µs on 3 % of the wake-ups came out reversed.
    @Test func aPlantedTailIsNamedAndNeverReversed() {
        let verdicts = (1...40 as ClosedRange<UInt64>)
            .map { seed in
                let other = turns(200, seed: seed + 1000, on: seed)
                return verdict(turns(200, seed: seed, on: seed, tail: 800_000, share: 0.03), other)
            }
        #expect(verdicts.count { $0 == .later } >= 36, "\(verdicts.count { $0 == .later }) of 40")
        #expect(!verdicts.contains(.earlier))
    }

    @Test func equalTailsAreToldApartHardlyEver() {
        let wrong = (1...100 as ClosedRange<UInt64>)
            .count { seed in
                let verdict = verdict(turns(200, seed: seed, on: seed), turns(200, seed: seed + 1000, on: seed))
                return verdict == .later || verdict == .earlier
            }
        #expect(wrong <= 3, "\(wrong) of 100")
    }

    @Test func theRangeOfATailHoldsTheTailOfALongMeasurement() throws {
        // The same moods, a hundred times as long.
        let truth = try #require(Rounds(turns(20_000, seed: 7)).percentile(99)).value
        let misses = try (1...60 as ClosedRange<UInt64>)
            .count { seed in
                let interval = try #require(Rounds(turns(200, seed: seed)).percentile(99)?.interval)
                return !interval.contains(truth)
            }
        #expect(misses <= 6, "\(misses) of 60")
    }

    @Test func sharesAndPricesHaveRanges() throws {
        let turns = (0..<40)
            .map { lap in Synthetic.turn([Int64](repeating: 10, count: 20), missed: lap % 4 == 0 ? 2 : 0) }
        let missed = try #require(Rounds(turns).missed)
        #expect(missed.value == 2.5)
        #expect(try #require(missed.interval).contains(2.5))
        let cpu = try #require(Rounds(turns).cpu)
        #expect(abs(cpu.value - 1) < 1e-9 && cpu.interval?.contains(cpu.value) == true)
        #expect(Rounds(turns).wakeUps?.value == 1)
    }

    @Test func fewRoundsHaveNoRange() {
        #expect(Rounds(turns(7, seed: 1)).percentile(99)?.interval == nil)
        #expect(Rounds(turns(8, seed: 1)).percentile(99)?.interval != nil)
        #expect(Rounds(turns(4, seed: 1)).percentile(99) == nil, "80 deadlines have no p99")
        #expect(Rounds([]).percentile(50) == nil)
        #expect(Rounds([]).missed == nil)
    }

    @Test func equalResultsGiveEqualRanges() {
        #expect(Rounds(turns(100, seed: 3)).percentile(99) == Rounds(turns(100, seed: 3)).percentile(99))
    }
}

@Suite struct RatioTests {
    /// Logarithms of ratios of two rows, each lap with noise of its own (G. Box and M. Muller, 1958). On the machines
    /// that this was measured on, the spread is 0.31.
    private func logarithms(_ factor: Double, laps: Int = 400, seed: UInt64) -> [Double] {
        var random = SplitMix64(seed: seed)
        return (0..<laps)
            .map { _ in
                let radius = (-2 * log(Double.random(in: 1e-12..<1, using: &random))).squareRoot()
                return log(factor) + 0.31 * radius * cos(.random(in: 0..<2 * .pi, using: &random))
            }
    }

    private func verdict(_ factor: Double, laps: Int = 400, seed: UInt64) -> Ratio.Verdict? {
        Ratio(ofLogarithms: logarithms(factor, laps: laps, seed: seed))?.verdict
    }

    /// The interval promises one false verdict in a hundred.
    @Test func equalRowsAreToldApartOnceInAHundred() {
        let verdicts = (1...300).map { verdict(1, laps: 100, seed: $0) }
        #expect(verdicts.count { $0 == .later || $0 == .earlier } <= 9)
    }

    @Test func aDifferenceOfATenthIsFound() {
        let seeds = 1...100 as ClosedRange<UInt64>
        #expect(seeds.count { verdict(1.1, seed: $0) == .later } >= 95)
        #expect(seeds.count { verdict(1 / 1.1, seed: $0) == .earlier } >= 95)
    }

    @Test func fewLapsHaveNoVerdict() {
        #expect(verdict(0.1, laps: 7, seed: 1) == .unclear)
        #expect(verdict(0.1, laps: 8, seed: 1) == .earlier)
        #expect(Ratio(ofLogarithms: []) == nil)
    }

    @Test(arguments: [
        (1.04...1.3, Ratio.Verdict.later), (0.4...0.8, .earlier), (0.96...1.05, .same), (0.4...1.8, .unclear),
        (1...1.1, .same),
    ])
    func theVerdictIsTheIntervalAgainstOne(interval: ClosedRange<Double>, verdict: Ratio.Verdict) {
        #expect(Ratio(Estimate(1.1, interval)).verdict == verdict)
    }

    @Test func splitMix64GivesTheKnownNumbers() {
        var generator = SplitMix64(seed: 1_234_567)
        let numbers = (0..<3).map { _ in generator.next() }
        #expect(numbers == [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423])
    }
}
