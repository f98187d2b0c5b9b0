import Foundation
import ResultsSupport
import TestSupport
import Testing
import TimerResults

@Suite struct PairTests {
    /// Normally distributed numbers: mean 0, standard deviation 1 (Box and Muller, 1958).
    private struct Noise {
        var generator: SplitMix64

        mutating func next() -> Double {
            let radius = (-2 * log(Double(generator.next() >> 11) / 0x1p53 + 0x1p-54)).squareRoot()
            return radius * cos(2 * Double.pi * Double(generator.next() >> 11) / 0x1p53)
        }
    }

    /// Ratios of two rows: the first's lateness is a multiple of the second's, and each lap has its own noise. On the
    /// machines that this was measured on, the spread is 0.31.
    private func ratios(_ factor: Double, laps: Int = 150, seed: UInt64) -> [Double] {
        var noise = Noise(generator: SplitMix64(seed: seed))
        return (0..<laps).map { _ in factor * exp(0.31 * noise.next()) }
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

    private func verdict(_ ratios: [Double]) -> Ratio.Verdict? { Ratio(of: ratios)?.verdict }

    /// The interval promises one false verdict in a hundred.
    @Test func equalRowsAreTheSame() {
        let verdicts = (1...400).map { verdict(ratios(1, seed: $0)) }
        #expect(verdicts.count { $0 != .same } <= 12)
    }

    @Test func aDifferenceOfATenthIsFound() {
        let seeds = 1...100 as ClosedRange<UInt64>
        #expect(seeds.count { verdict(ratios(1.1, seed: $0)) == .later } >= 85)
        #expect(seeds.count { verdict(ratios(1 / 1.1, seed: $0)) == .earlier } >= 85)
        #expect(seeds.count { verdict(ratios(1.2, seed: $0)) == .later } == 100)
    }

    @Test func fewLapsHaveNoVerdict() {
        #expect(verdict(ratios(0.1, laps: 7, seed: 1)) == .unknown)
        #expect(verdict(ratios(0.1, laps: 8, seed: 1)) == .earlier)
        #expect(Ratio(of: []) == nil)
        #expect(Ratio(of: [0, .infinity, .nan]) == nil)
    }

    @Test func theWordsAreThoseOfTheNumbers() throws {
        let known: [(Ratio, String)] = [
            (Ratio(estimate: 1.18, interval: 1.04...1.3), "1.18 × later (1.04 to 1.30)"),
            (Ratio(estimate: 0.5, interval: 0.4...0.8), "2.00 × earlier (1.25 to 2.50)"),
            (Ratio(estimate: 1.01, interval: 0.96...1.055), "same within ± 6 %"),
            (Ratio(estimate: 1.02, interval: 1.001...1.05), "1.02 × later (1.001 to 1.050)"),
            (Ratio(estimate: 1.02, interval: nil), "too few laps"),
        ]
        for (ratio, words) in known { #expect(ratio.words == words) }
        let uncertain = Ratio(estimate: 1.1, interval: 0.4...1.8)
        #expect(uncertain.words == "too uncertain to tell" && uncertain.shortWords == "?")
        #expect(known.map(\.0.shortWords) == ["1.18 × later", "2.00 × earlier", "same", "1.02 × later", "?"])
    }

    @Test func aSlowRoundOfTheMachineCancelsOut() throws {
        let pairs = Report(results(0.9)).pairs
        #expect(pairs.map(\.percentile) == [.p50], "twenty ticks have no tail")
        let pair = try #require(pairs.first)
        #expect(pair.first.row == "timerfd")
        #expect(pair.second.row == "dispatch")
        #expect(pair.ratio.verdict == .earlier)
        #expect(abs(pair.ratio.estimate - 0.9) < 0.03)
        let interval = try #require(pair.ratio.interval)
        #expect(interval.contains(pair.ratio.estimate))
        let reversed = Report(results(1 / 0.9)).pairs.first
        #expect(reversed?.ratio.verdict == .later)
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
        let witness = Synthetic.key(RowKey.cyclictest, .reference)
        #expect(PairReport.isOfInterest(Synthetic.key("floor-nanosleep", .reference), witness))
        #expect(!PairReport.isOfInterest(floor, witness))
        #expect(!PairReport.isOfInterest(timerFD, Synthetic.key("dispatch", load: "cpu:2")))
    }

    @Test func splitMix64GivesTheKnownNumbers() {
        var generator = SplitMix64(seed: 1_234_567)
        let numbers = (0..<3).map { _ in generator.next() }
        #expect(numbers == [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423])
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

    /// An estimate that numpy and scipy made from the same values, by sorting all Walsh averages.
    struct Known: Sendable {
        let seed: UInt64
        let count: Int
        var carry = 0.0
        let low: Double
        let middle: Double
        let high: Double
    }

    @Test(arguments: [
        Known(seed: 1, count: 7, low: -.infinity, middle: 0.236180855374, high: .infinity),
        Known(seed: 2, count: 8, low: -0.151203149076, middle: 0.177204877879, high: 0.321020940299),
        Known(seed: 3, count: 12, low: -0.285055274581, middle: 0.056461009101, high: 0.343577289756),
        Known(seed: 4, count: 30, carry: 0.5, low: -0.068308654394, middle: 0.220300691416, high: 0.489847416053),
        Known(seed: 5, count: 50, low: -0.081793006744, middle: 0.048850188835, high: 0.171344169442),
        Known(seed: 6, count: 51, low: -0.080676455875, middle: 0.051027951575, high: 0.174038505000),
        Known(seed: 7, count: 150, low: 0.012432272593, middle: 0.078294873894, high: 0.158315712756),
        Known(seed: 8, count: 150, carry: 0.6, low: 0.009939039221, middle: 0.147689368502, high: 0.296651681793),
        Known(seed: 9, count: 151, carry: -0.5, low: -0.054638805900, middle: 0.029878053372, high: 0.115598599878),
        Known(seed: 10, count: 1000, carry: 0.3, low: 0.046232251571, middle: 0.081693986734, high: 0.117086739043),
    ])
    func theEstimateEqualsThatOfAnotherProgram(known: Known) throws {
        let values = values(known.count, seed: known.seed, carry: known.carry)
        let estimate = try #require(SignedRank.estimate(values))
        for (ours, theirs) in [(estimate.low, known.low), (estimate.middle, known.middle), (estimate.high, known.high)]
        {
            #expect(ours == theirs || abs(ours - theirs) < 1e-9)
        }
    }

    @Test func withoutValuesThereIsNoEstimate() { #expect(SignedRank.estimate([]) == nil) }

    @Test func equalValuesLeaveNoDoubt() throws {
        let estimate = try #require(SignedRank.estimate(Array(repeating: 0.25, count: 20)))
        #expect([estimate.low, estimate.middle, estimate.high] == [0.25, 0.25, 0.25])
    }

    @Test func theOrderOfIndependentValuesDoesNotMoveTheMiddle() throws {
        let values = values(60, seed: 3)
        #expect(SignedRank.estimate(values)?.middle == SignedRank.estimate(values.reversed())?.middle)
    }

    @Test func oneWildValueHardlyMoves() throws {
        let values = values(40, seed: 3)
        let calm = try #require(SignedRank.estimate(values))
        let wild = try #require(SignedRank.estimate(values.dropLast() + [1e9]))
        #expect(abs(wild.middle - calm.middle) < 0.05)
        #expect(wild.high < calm.high + 0.2)
    }

    /// The interval promises to be wrong in one of a hundred cases at most.
    @Test(arguments: [8, 9, 12, 60])
    func theIntervalMissesTheMiddleOfEqualRowsAboutOnceInAHundred(count: Int) {
        let seeds = Effort.of(500, thorough: 5_000)
        let misses = (1...seeds)
            .count { seed in
                // The values are symmetric around 0.05.
                let estimate = SignedRank.estimate(values(count, seed: seed).map { $0 - 0.05 })
                return estimate.map { $0.low > 0 || $0.high < 0 } ?? true
            }
        #expect((seeds / 500...seeds * 62 / 5_000).contains(misses), "\(misses) of \(seeds)")
    }
}
