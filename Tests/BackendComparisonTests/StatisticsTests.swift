#if Instrument && DEBUG
import Foundation
import TestSupport
import Testing

@testable import BackendComparison

/// Latenesses in buckets.
@Suite struct HistogramTests {
    @Test func percentilesOfKnownValuesAreRightToTwoPercent() {
        let histogram = SparseHistogram((1...100_000).map { Int64($0) })
        for percent in [1, 50, 90, 99, 99.9, 100] {
            #expect(abs(histogram.percentile(percent) / (1000 * percent) - 1) < 0.02, "\(percent)")
        }
    }

    @Test func extremesAreClamped() {
        #expect([SparseHistogram([-5, 10]), SparseHistogram()].map { $0.percentile(50) } == [0, 0])
        #expect(SparseHistogram([.max]).percentile(50) >= 3_500_000_000_000)
    }

    @Test(arguments: [
        "5:0", "7 5", "5 5", "5:2 x", "5: 7", "-5", "5:-1", "5:99999999999999999999", "5:18446744073709551615",
        "3600000000001", "5:1:1", "5.0", "5,7", "129", "5:281474976710657",
    ])
    func hostileTextsAreRefused(text: String) { #expect(SparseHistogram(text) == nil) }
}

/// The slope of lateness over time.
@Suite struct StretchDriftTests {
    /// Ticks that get later by `ppm`, with noise added to each.
    private func fitted(ppm: Int64, ticks: Int, every milliseconds: Int = 1, adding noise: (Int) -> Int64 = { _ in 0 })
        -> StretchDrift?
    {
        let points = (0..<ticks)
            .map { tick in
                let time = tick * milliseconds
                return Point(time: UInt64(time) * 1_000_000, lateness: 50_000 + Int64(time) * ppm + noise(tick))
            }
        return StretchDrift(points)
    }

    /// Missed deadlines stretch the time.
    @Test func aKnownSlopeIsFound() throws {
        for (ppm, milliseconds) in [(0, 1), (5, 1), (-3, 1), (33_000, 1), (2, 2)] as [(Int64, Int)] {
            let drift = try #require(fitted(ppm: ppm, ticks: 1000, every: milliseconds))
            #expect(abs(drift.ppm - Double(ppm)) < 1e-6 && drift.noise < 1e-3, "\(ppm)")
        }
    }

    @Test func neitherAFewGreatLatenessesNorTheFirstSixteenthBendTheSlope() throws {
        let great = try #require(fitted(ppm: 5, ticks: 1600) { $0 > 1500 && $0 % 10 == 0 ? 50_000_000 : 0 })
        #expect(abs(great.ppm - 5) < 0.1)
        #expect(fitted(ppm: 0, ticks: 100, every: 50) { $0 < 6 ? -10_000 : 0 }?.ppm == 0)
    }

    @Test func tooFewTicksOrTicksAtOneTimeHaveNoDrift() {
        #expect([0, 11, 12].map { fitted(ppm: 0, ticks: $0, every: 50) != nil } == [false, false, true])
        #expect(fitted(ppm: 0, ticks: 100, every: 0) == nil)
    }

    /// A bound without an estimate, "± 19".
    @Test(arguments: [
        (12.13, 3.04, "12 ± 3"), (-12.13, 3.04, "-12 ± 3"), (0.4, 3.04, "0 ± 3"), (0.04, 0.12, "0.0 ± 0.1"),
        (66_999, 6_302, "67k ± 6.3k"), (-120_000, 200, "-120k ± 0.20k"), (62_134, 4, "62134 ± 4"),
        (9_949, 100, "9949 ± 100"), (3, 12_000, "0.00k ± 12k"),
    ])
    func aDriftIsAnEstimateWithItsNoise(ppm: Double, noise: Double, words: String) {
        #expect(NumberText.drift(StretchDrift(ppm: ppm, noise: noise).estimate) == words)
    }
}

@Suite struct SignedRankTests {
    /// Pseudorandom values, each with a share of the value before it.
    private func values(_ count: Int, seed: some BinaryInteger, carry: Double = 0) -> [Double] {
        var generator = SplitMix64(seed: UInt64(seed))
        var last = 0.0
        return (0..<count)
            .map { _ in
                last = carry * last + Double(generator.next() >> 11) / 0x1p53 - 0.45
                return last
            }
    }

    /// Estimates that numpy and scipy made from the same values, by sorting all Walsh averages.
    @Test(
        arguments: [
            (1, 7, 0, [-.infinity, 0.236180855374, .infinity]),
            (2, 8, 0, [-0.151203149076, 0.177204877879, 0.321020940299]),
            (3, 12, 0, [-0.285055274581, 0.056461009101, 0.343577289756]),
            (4, 30, 0.5, [-0.068308654394, 0.220300691416, 0.489847416053]),
            (5, 50, 0, [-0.081793006744, 0.048850188835, 0.171344169442]),
            (6, 51, 0, [-0.080676455875, 0.051027951575, 0.174038505000]),
            (7, 150, 0, [0.012432272593, 0.078294873894, 0.158315712756]),
            (8, 150, 0.6, [0.009939039221, 0.147689368502, 0.296651681793]),
            (9, 151, -0.5, [-0.054638805900, 0.029878053372, 0.115598599878]),
            (10, 1000, 0.3, [0.046232251571, 0.081693986734, 0.117086739043]),
        ] as [(UInt64, Int, Double, [Double])]
    )
    func theEstimateEqualsThatOfAnotherProgram(seed: UInt64, count: Int, carry: Double, known: [Double]) throws {
        let ours = try #require(SignedRank.estimate(values(count, seed: seed, carry: carry)))
        let pairs = zip([ours.low, ours.middle, ours.high], known)
        #expect(pairs.allSatisfy { $0 == $1 || abs($0 - $1) < 1e-9 }, "\(ours)")
    }
}

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

    /// +800 µs on 3 % of the wake-ups came out reversed.
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
        let seeds = Effort.of(34, thorough: 100)
        let wrong = (1...UInt64(seeds))
            .count { seed in
                let verdict = verdict(turns(200, seed: seed, on: seed), turns(200, seed: seed + 1000, on: seed))
                return verdict == .later || verdict == .earlier
            }
        #expect(wrong <= seeds * 3 / 100, "\(wrong) of \(seeds)")
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

    /// `missed 0.0 % (0.0–0.0)`: of 800 deadlines without a miss, the draws show none either. The ends are those of
    /// a Poisson count (F. Garwood, 1936) by scipy.
    @Test(arguments: [
        (0, 0.0, 5.298317), (1, 0.005013, 7.430130), (3, 0.337863, 10.977477), (7, 2.037337, 17.133593),
    ])
    func fewMissedDeadlinesHaveTheRangeOfTheirCount(count: Int, low: Double, high: Double) throws {
        let turns = (0..<40)
            .map { lap in Synthetic.turn([Int64](repeating: 10, count: 20), missed: lap < count ? 1 : 0) }
        let missed = try #require(Rounds(turns).missed)
        let interval = try #require(missed.interval)
        #expect(abs(missed.value - Double(count) / 8) < 1e-9)
        #expect(interval.lowerBound <= low / 8 + 1e-6 && interval.upperBound >= high / 8 - 1e-6, "\(interval)")
        #expect(count > 0 || interval.upperBound < high / 8 + 1e-6, "\(interval)")
    }

    @Test func manyMissedDeadlinesHaveTheRangeOfTheirRounds() {
        func missed(_ laps: Int, _ number: UInt64, of deadlines: Int) -> Estimate? {
            let turn = Synthetic.turn([Int64](repeating: 10, count: deadlines), missed: number)
            return Rounds([Turn](repeating: turn, count: laps)).missed
        }
        #expect(missed(40, 1, of: 20) == Estimate(5, 5...5))
        #expect(missed(7, 0, of: 20) == Estimate(0), "too few rounds")
        #expect(missed(8, 1, of: 20) == Estimate(5, 5...5), "eight are many")
        #expect(missed(8, 0, of: 1).map { ($0.interval?.upperBound ?? 0) < 100 } == true)
        var turns = [Turn](repeating: Synthetic.turn([10], missed: 1), count: 7)
        turns.append(Synthetic.turn([10]))
        #expect(Rounds(turns).missed?.interval?.upperBound == 100, "no more than all")
    }

    /// Of 39 turns of 20 deadlines, fewer than eight deadlines are later than the p99.
    @Test func fewRoundsHaveNoRangeAndEqualOnesHaveEqualRanges() {
        let tails = [7, 39, 100, 100].map { Rounds(turns($0, seed: 3)).percentile(99) }
        #expect(tails.map { $0?.interval == nil } == [true, true, false, false])
        let ranges = [(7, 90), (8, 90), (40, 99), (399, 99.9), (400, 99.9)]
            .map { Rounds(turns($0, seed: 3)).percentile($1)?.interval != nil }
        #expect(ranges == [false, true, true, false, true])
        #expect(tails[2] == tails[3])
        #expect(Rounds(turns(4, seed: 1)).percentile(99) == nil, "80 deadlines have no p99")
        #expect(Rounds([]).percentile(50) == nil && Rounds([]).missed == nil)
    }
}

/// One lateness as a multiple of another.
@Suite struct RatioTests {
    @Test(
        arguments: [
            (1.04...1.3, Ratio.Verdict.later), (0.4...0.8, .earlier), (0.4...1.8, .unclear), (nil, .unclear),
            (1...1.25, .same), (0.8...1, .same), (0.79...1.25, .unclear), (0.8...1.26, .unclear),
        ] as [(ClosedRange<Double>?, Ratio.Verdict)]
    )
    func theVerdictIsTheIntervalAgainstOne(interval: ClosedRange<Double>?, verdict: Ratio.Verdict) {
        #expect(Ratio(Estimate(1.1, interval)).verdict == verdict)
    }
}
#endif
