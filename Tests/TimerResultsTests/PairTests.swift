import Foundation
import ResultsSupport
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
