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
        return Drift(points)
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

    @Test func aLatenessThatSettlesInTheFirstQuarterIsNotDrift() throws {
        let drift = try #require(fitted(ppm: 0, ticks: 100) { $0 < 25 ? -10_000 : 0 })
        #expect(drift.ppm == 0)
    }

    @Test func missedDeadlinesStretchTheTime() throws {
        // Only every second deadline has a tick, each 4 ns later than the one before: 2 ppm.
        let points = (0..<501).map { (number: Int64) in Point(time: UInt64(2_000_000 * number), lateness: 4 * number) }
        let drift = try #require(Drift(points))
        #expect(abs(drift.ppm - 2) < 1e-6)
    }

    @Test func tooFewTicksHaveNoDrift() {
        #expect(fitted(ppm: 0, ticks: 14) == nil)
        #expect(fitted(ppm: 0, ticks: 15) != nil)
        #expect(fitted(ppm: 0, ticks: 0) == nil)
    }

    @Test func ticksAtOneTimeHaveNoDrift() {
        #expect(Drift((0..<100).map { Point(time: 0, lateness: $0) }) == nil)
    }

    /// Fault 8: a bound without an estimate, "± 19".
    @Test(arguments: [
        (12.13, 3.04, "12 ± 3"), (-12.13, 3.04, "-12 ± 3"), (0.4, 3.04, "0 ± 3"), (0.04, 0.12, "0.0 ± 0.1"),
    ])
    func aDriftIsAnEstimateWithItsNoise(ppm: Double, noise: Double, words: String) {
        #expect(NumberText.drift(Drift(ppm: ppm, noise: noise).estimate) == words)
    }

    /// Ticks whose lateness wanders look like a slope. The noise must say so.
    @Test func aWanderingLatenessIsRarelyTakenForDrift() {
        let wrong = (1...200)
            .count { seed in
                var random = SplitMix64(seed: UInt64(seed))
                var wander = 0.0
                let drift = fitted(ppm: 0, ticks: 1000) { _ in
                    wander = 0.98 * wander + .random(in: -2000..<2000, using: &random)
                    return Int64(wander) + .random(in: -10_000..<10_000, using: &random)
                }
                return drift.map { $0.ppm.magnitude > $0.noise } ?? true
            }
        #expect(wrong <= 20, "\(wrong) of 200")
    }
}
