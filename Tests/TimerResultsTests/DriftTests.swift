import Testing
import TimerResults

@Suite struct DriftTests {
    /// Ticks for at least a second that get later by `ppm`, with noise added to each.
    private func fitted(
        ppm: Int64,
        ticks: Int,
        every period: UInt64? = nil,
        adding noise: (Int) -> Int64 = { _ in 0 }
    ) -> Drift? {
        let period = period ?? (ticks < 1000 ? 50_000_000 : 1_000_000)
        let points = (0..<ticks)
            .map { tick in
                let late = Int64(tick) * ppm * Int64(period / 1_000_000)
                return Point(time: UInt64(tick) * period, lateness: 50_000 + late + noise(tick))
            }
        return Drift(points, period: period)
    }

    @Test(arguments: [Int64(0), 5, -3, 33_000])
    func aKnownSlopeIsFound(ppm: Int64) throws {
        let drift = try #require(fitted(ppm: ppm, ticks: 1000))
        #expect(abs(drift.ppm - Double(ppm)) < 1e-6)
        #expect(drift.noise < 1e-3)
    }

    @Test func aFewGreatLatenessesDoNotBendTheSlope() throws {
        let drift = try #require(fitted(ppm: 5, ticks: 1600) { $0 > 1500 && $0 % 10 == 0 ? 50_000_000 : 0 })
        #expect(abs(drift.ppm - 5) < 0.1)
    }

    @Test func noiseThatHidesTheSlopeIsReported() throws {
        // Every other block of 100 ticks is 10 µs later.
        let drift = try #require(fitted(ppm: 0, ticks: 1600) { $0 / 100 % 2 == 0 ? 0 : 10_000 })
        #expect(drift.noise > abs(drift.ppm))
        #expect(drift.noise > 1)
    }

    @Test func endOffsetIsFromTheFirstBlockToTheLast() throws {
        // The second half has 800 ticks in 16 blocks: 750 ticks from the middle of the first to that of the last.
        let drift = try #require(fitted(ppm: 2, ticks: 1600))
        #expect(drift.endOffset == 1500)
    }

    @Test func aLatenessThatSettlesInTheFirstHalfIsNotDrift() throws {
        let drift = try #require(fitted(ppm: 0, ticks: 100) { $0 < 30 ? -10_000 : 0 })
        #expect(drift.ppm == 0)
        #expect(drift.endOffset == 0)
    }

    @Test func missedDeadlinesStretchTheTime() throws {
        // Only every second deadline has a tick, each 4 ns later than the one before: 2 ppm.
        let points = (0..<501).map { (number: Int64) in Point(time: UInt64(2_000_000 * number), lateness: 4 * number) }
        let drift = try #require(Drift(points, period: 1_000_000))
        #expect(abs(drift.ppm - 2) < 1e-6)
    }

    @Test func tooFewTicksHaveNoDrift() {
        #expect(fitted(ppm: 0, ticks: 22) == nil)
        #expect(fitted(ppm: 0, ticks: 23) != nil)
        #expect(fitted(ppm: 0, ticks: 0) == nil)
    }

    @Test func aTurnOfLessThanASecondHasNoDrift() {
        #expect(fitted(ppm: 0, ticks: 99, every: 10_000_000) == nil)
        #expect(fitted(ppm: 0, ticks: 100, every: 10_000_000) != nil)
    }

    @Test func ticksAtOneTimeHaveNoDrift() {
        #expect(Drift((0..<100).map { Point(time: 0, lateness: $0) }, period: 2_000_000_000) == nil)
    }

    @Test(arguments: [
        (12.13, 3.04, "+12.1 ± 3.0"), (-12.13, 3.04, "-12.1 ± 3.0"), (2.9, 3.04, "± 3.0"),
        (-158.6, 57.2, "-159 ± 57"), (0, 0, "± 0.0"),
    ])
    func aDriftIsClaimedOnlyOutsideItsNoise(ppm: Double, noise: Double, words: String) {
        #expect(Drift(ppm: ppm, noise: noise, endOffset: 0).words == words)
    }

    @Test func theMedianOfTheTurnsCounts() throws {
        let turns = [1.0, 500, 2].map { Drift(ppm: $0, noise: 3, endOffset: 10 * $0) }
        let drift = try #require(Drift(turns))
        #expect(drift.ppm == 2)
        #expect(drift.endOffset == 20)
    }

    @Test func turnsThatDisagreeAreNoisierThanEachSays() throws {
        let turns = [-100.0, 0, 100, 50].map { Drift(ppm: $0, noise: 3, endOffset: 0) }
        let drift = try #require(Drift(turns))
        #expect(drift.noise > 100)
    }

    @Test func theNoiseOfTurnsThatAgreeShrinksWithTheirNumber() throws {
        let turns = [Drift](repeating: Drift(ppm: 1, noise: 3, endOffset: 0), count: 100)
        #expect(try #require(Drift([turns[0]])).noise == 3)
        let noise = try #require(Drift(turns)).noise
        #expect(abs(noise - 0.3 * (Double.pi / 2).squareRoot()) < 1e-9)
        #expect(Drift([Drift]()) == nil)
    }
}
