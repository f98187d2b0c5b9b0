import Foundation
import TestSupport
import Testing
import TimerResults

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
