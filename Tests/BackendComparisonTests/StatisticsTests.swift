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
        let both = SparseHistogram([-5, .max])
        #expect(both.percentile(100) >= 3_500_000_000_000 && SparseHistogram(both.text) == both)
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

    /// Of three and of fifteen medians, the middle one is off. Student's t for one degree of freedom, and nine tenths.
    @Test(arguments: [(12, 1, 5_512.86), (64, 8, 25.9808)])
    func theNoiseIsThatOfTheLine(ticks: Int, late: Int, noise: Double) throws {
        let drift = try #require(fitted(ppm: 0, ticks: ticks, every: 50) { $0 / 4 == late ? 30_000 : 0 })
        #expect(abs(drift.ppm) < 1e-6 && abs(drift.noise / noise - 1) < 1e-3, "\(drift)")
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

    /// `hybrid.p99 later 5% than timerfd` was met by 740 deadlines, of which neither p99 had a range.
    @Test func aComparisonByP99HasARangeIfBothRowsHaveOne() {
        let rows = [2, 10, 20]
            .map { count in [Turn](repeating: Synthetic.turn([Int64](repeating: 10, count: count)), count: 40) }
            .map { Rounds($0) }
        let ratios = rows.map { [rows[2].ratio(to: $0, 99), $0.ratio(to: rows[2], 99)] }
        let haveRanges = ratios.map { $0.map { $0.map { $0.estimate.interval != nil } } }
        #expect(haveRanges == [[nil, nil], [false, false], [true, true]])
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
        #expect(Rounds([Synthetic.turn([7])]).percentile(50)?.value == 7)
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

/// The lateness over the time of a stretch.
@Suite struct LatenessSeriesTests {
    private func made(_ points: [(time: UInt64, lateness: Int64)], steps: Int = 200) -> LatenessSeries? {
        LatenessSeries(points.map { Point(time: $0.time, lateness: $0.lateness) }, steps: steps)
    }

    @Test func aStepHasTheMedianAndTheGreatestLatenessOfItsTicks() throws {
        let series = try #require(made([(0, 5), (10, 9), (20, 1), (30, 70), (40, 20), (50, 30)], steps: 2))
        #expect(series.step == 26)
        #expect(series.medians == [5, 30] && series.maxima == [9, 70])
        let empty = made([(0, 5), (1, 6), (2, 7), (90, 8)], steps: 3)
        #expect(empty?.medians == [6, nil, 8] && empty?.maxima == [7, nil, 8], "a step without a tick is empty")
        let points: [(UInt64, Int64)] = (0..<1000).map { tick in (tick * 1_000, Int64(tick * 37 % 101)) }
        #expect(made(points) == made(points.reversed()), "the order of the ticks does not matter")
    }

    @Test func thereAreNoMoreStepsThanDeadlines() {
        // Ten timers tick at each of three deadlines.
        let few = made((0..<30).map { (tick: Int64) in (UInt64(tick / 10) * 1_000_000, tick) })
        #expect(few?.medians == [4, 14, 24] && few?.maxima == [9, 19, 29])
        let many = made((0..<12_345).map { (UInt64($0) * 1_000_000, 1) })
        #expect(many?.medians.count == 200 && many?.medians.contains(nil) == false)
        #expect(made([(0, 5)])?.medians == [5])
        #expect(made([]) == nil)
    }
}

/// How often a stretch without a drift, or with a known one, is taken for another one. The noise promises one of a
/// hundred at most, whatever the machine does.
@Suite struct DriftNoiseTests {
    /// What makes ticks late.
    enum Kind: CaseIterable {
        /// Two levels, 27 and 50 µs, each kept for so many ticks.
        case shortLevels, longLevels, slowLevels
        /// Three stalls of 20 ms, which a timer skips, or catches up with tick by tick.
        case skippedStalls, caughtStalls
        /// Each tick on its own, or beside the tick before it.
        case independent, wandering

        /// The latenesses of a stretch with a tick each millisecond, in µs.
        func latenesses(_ ticks: Int, seed: Int) -> [Double] {
            var random = SplitMix64(seed: UInt64(seed))
            func uniform() -> Double { Double(random.next() >> 11) / 0x1p53 }
            func exponential(_ mean: Double) -> Double { -mean * log(1 - uniform()) }
            func number(_ range: ClosedRange<Int>) -> Int { range.lowerBound + Int(uniform() * Double(range.count)) }
            func levels(of lengths: ClosedRange<Int>) -> [Double] {
                var (isHigh, left) = (uniform() < 0.5, number(1...lengths.upperBound))
                return (0..<ticks)
                    .map { _ in
                        if left == 0 { (isHigh, left) = (!isHigh, number(lengths)) }
                        left -= 1
                        return (isHigh ? 50 : 27) + 8 * (uniform() - 0.5)
                    }
            }
            switch self {
            case .shortLevels: return levels(of: 5...50)
            case .longLevels: return levels(of: 50...500)
            case .slowLevels: return levels(of: 500...5_000)
            case .independent: return (0..<ticks).map { _ in exponential(30) }
            case .wandering:
                var wander = 0.0
                return (0..<ticks)
                    .map { _ in
                        wander = 0.98 * wander + 4 * uniform() - 2
                        return 50 + wander + 20 * uniform() - 10
                    }
            case .skippedStalls, .caughtStalls:
                var latenesses = (0..<ticks).map { _ in 27 + exponential(5) }
                for _ in 0..<3 {
                    let first = number(0...ticks - 21)
                    for tick in 0..<(self == .caughtStalls ? 20 : 1) {
                        latenesses[first + tick] += 1000 * Double(20 - tick)
                    }
                }
                return latenesses
            }
        }

        func drift(_ ticks: Int, ppm: Double, seed: Int) -> StretchDrift? {
            let points = latenesses(ticks, seed: seed).enumerated()
                .map { tick, lateness in
                    Point(time: UInt64(tick) * 1_000_000, lateness: Int64(1000 * lateness + Double(tick) * ppm))
                }
            return StretchDrift(points)
        }
    }

    /// The series of a quarter of a second, of short runs, and of a default run.
    private static let series: [(kind: Kind, ticks: Int, count: Int)] = Kind.allCases.flatMap { kind in
        [(250, 300), (1000, 300), (4000, 100), (10_000, 50)].map { (kind, $0, Effort.of($1, thorough: 1000)) }
    }

    @Test(arguments: Effort.some(series))
    func aStretchIsTakenForAnotherDriftInOneOfAHundredAtMost(kind: Kind, ticks: Int, count: Int) {
        let ppm = 0.3
        let wrong = (1...count)
            .count { seed in
                guard let drift = kind.drift(ticks, ppm: ppm, seed: seed) else { return true }
                return abs(drift.ppm - ppm) > drift.noise
            }
        #expect(wrong <= count / 100, "\(wrong) of \(count)")
    }

    /// Ramps that are found in at least half of the stretches.
    private static let ramps = [
        (Kind.shortLevels, 1000, 120.0), (.longLevels, 1000, 130), (.independent, 1000, 55), (.shortLevels, 4000, 26),
        (.longLevels, 4000, 32), (.independent, 4000, 7), (.shortLevels, 10_000, 10), (.longLevels, 10_000, 12),
        (.independent, 10_000, 2),
    ]

    @Test(arguments: Effort.some(ramps))
    func aGreatDriftIsSeen(kind: Kind, ticks: Int, ppm: Double) {
        let seen = (1...50)
            .count { seed in kind.drift(ticks, ppm: ppm, seed: seed).map { $0.ppm > $0.noise } ?? false }
        #expect(seen >= 25, "\(seen) of 50")
    }

    /// Each sleep of such a loop adds its own lateness to all later ones, and a stall stays in it for ever.
    @Test func aLoopWithoutAGridHasTheDriftOfItsSleeps() {
        let drifts = (1...100)
            .compactMap { seed in
                let added = Kind.longLevels.latenesses(10_000, seed: seed)
                var sum = 0.0
                let points = added.enumerated()
                    .map { tick, lateness in
                        sum += lateness * 1.5 + (tick == 5_000 ? 30_000 : 0)
                        return Point(time: UInt64(tick) * 1_000_000, lateness: Int64(1000 * sum))
                    }
                // Between the two levels of 27 and 50 µs, which are 38,923 and 69,767 ppm.
                return StretchDrift(points, keepsGrid: false)
            }
        #expect(drifts.count == 100)
        #expect(drifts.allSatisfy { (38_900...69_800).contains($0.ppm) && $0.noise < $0.ppm / 2 })
        #expect(drifts.count { abs($0.ppm - 52_110) <= $0.noise } >= 97)
    }

    @Test func aLoopWithoutAGridFallsBehindByNoMoreThanTheTimeThatPasses() {
        // It needs 60 µs for each period of 1 µs.
        let hopeless = (0..<10_000).map { Point(time: $0 * 1_000, lateness: 59_000 * Int64($0)) }
        let drift = StretchDrift(hopeless, keepsGrid: false)
        #expect(drift.map { abs($0.ppm - 983_333) < 100 && $0.noise < 3_000 } == true)
        // Of too few ticks nothing is known.
        #expect(StretchDrift(Array(hopeless.prefix(100)), keepsGrid: false) == nil)
    }
}
#endif
