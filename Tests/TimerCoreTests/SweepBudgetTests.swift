import PreciseTimer
import Testing

/// When a sweep for released targets has used its processor time.
struct SweepBudgetTests {
    /// What a sweep did: the sizes of its parts, and the processor time that it took.
    private struct Sweep {
        var parts: [Int] = []
        var time: UInt64 = 5_000_000_000

        var count: Int { parts.reduce(0, +) }
    }

    /// Sweeps a quota of timers, each of which takes `price` nanoseconds. `isTold` is false if the system refuses to
    /// tell the processor time, and `ends` says whether the part with a number ends timers.
    private func sweep(
        _ quota: Int,
        price: UInt64,
        isTold: Bool = true,
        ends: (Int) -> Bool = { _ in false }
    ) -> Sweep {
        var (budget, sweep, endedTimers) = (SweepBudget(for: quota), Sweep(), false)
        while let part = budget.next(at: isTold ? sweep.time : nil, endedTimers: endedTimers) {
            endedTimers = ends(sweep.parts.count)
            sweep.parts.append(part)
            sweep.time += UInt64(part) * price
        }
        return sweep
    }

    @Test(arguments: [50, 100, 1_000, 10_000] as [UInt64])
    func aSweepOfTimersThatGoOnTakesLessThanAHundredthOfASecond(price: UInt64) {
        let sweep = sweep(250_000, price: price)
        #expect(sweep.count < 250_000)
        #expect((8_000_000..<10_000_000 + 256 * price).contains(sweep.time - 5_000_000_000))
    }

    @Test(arguments: [0, 1, 255, 256, 257, 25_000])
    func aCheapSweepCoversItsQuotaAndNoTimerTwice(quota: Int) {
        let sweep = sweep(quota, price: 100)
        #expect(sweep.count == quota)
        #expect(sweep.parts.allSatisfy { $0 > 0 })
    }

    /// A million released targets must not wait for a hundred sweeps, however long `onEnd` takes.
    @Test func partsThatEndTimersAreFree() {
        #expect(sweep(250_000, price: 10_000, ends: { _ in true }).count == 250_000)
        #expect(sweep(1_024, price: 1_000_000, ends: { $0 == 0 }).count == 512)
    }

    @Test func timersThatGoOnUseTheBudgetBetweenThoseThatEnd() {
        let paying = sweep(250_000, price: 1_000).parts.count
        #expect(sweep(250_000, price: 1_000, ends: { $0 % 2 == 0 }).parts.count == 2 * paying)
    }

    @Test func aRefusedReadingLeavesTheQuotaAsTheLimit() {
        #expect(sweep(250_000, price: 1_000, isTold: false).count == 250_000)
    }

    @Test func aTimeThatGoesBackUsesNothing() {
        var budget = SweepBudget(for: 1_000)
        #expect(budget.next(at: 1_000_000_000, endedTimers: false) == 256)
        #expect(budget.next(at: 0, endedTimers: false) == 256)
        #expect(budget.next(at: 7_999_999, endedTimers: false) == 256)
        #expect(budget.next(at: 8_000_000, endedTimers: false) == nil)
    }
}
