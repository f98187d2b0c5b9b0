import PreciseTimer
import TestSupport
import Testing

/// The margin before a deadline follows the wake-ups and keeps the budget.
@Suite struct SpinPlanTests {
    private static let millisecond: UInt64 = 1_000_000

    /// Wake-ups around a lateness, with a few percent of spread.
    private static func around(_ lateness: UInt64, _ generator: inout SeededGenerator) -> UInt64 {
        UInt64.random(in: lateness * 95 / 100...lateness * 105 / 100, using: &generator)
    }

    @Test func theMarginIsTheMaximumWhileLittleIsKnown() {
        var run = SpinRun()
        run.run(199, every: Self.millisecond) { _ in 20_000 }
        #expect(run.plan.margin == 100_000)
        #expect(run.lateness.allSatisfy { $0 == 0 })
    }

    @Test func theMarginCoversTheUsualWakeUpsAndNotMuchMore() {
        var run = SpinRun()
        var generator = SeededGenerator(seed: 1)
        run.run(2_000, every: Self.millisecond) { _ in Self.around(40_000, &generator) }
        #expect((42_000...46_000).contains(run.plan.margin))
        #expect(run.lateness.suffix(1_000).allSatisfy { $0 == 0 })
    }

    @Test func aSpikeDoesNotRaiseTheMargin() {
        var run = SpinRun()
        run.run(2_000, every: Self.millisecond) { _ in 40_000 }
        let before = run.plan.margin
        run.run(1, every: Self.millisecond) { _ in 5_000_000 }
        run.run(10, every: Self.millisecond) { _ in 40_000 }
        #expect(run.plan.margin == before)
    }

    /// One wake-up in two hundred may be later than the margin, and not one fewer.
    @Test(arguments: [(2, false), (3, true)])
    func twoSpikesInFourHundredDoNotRaiseTheMargin(count: Int, isRaised: Bool) {
        var run = SpinRun()
        run.run(400, every: Self.millisecond) { $0 % 100 == 50 && $0 / 100 < count ? 90_000 : 40_000 }
        #expect((run.nextMargin() > 90_000) == isRaised)
    }

    @Test func someSpikesRaiseTheMarginForAtMostASecond() {
        var run = SpinRun()
        run.run(2_000, every: Self.millisecond) { _ in 40_000 }
        let before = run.plan.margin
        run.run(20, every: Self.millisecond) { _ in 90_000 }
        run.run(1, every: Self.millisecond) { _ in 40_000 }
        #expect(run.plan.margin > 90_000)
        run.run(1_000, every: Self.millisecond) { _ in 40_000 }
        #expect(run.plan.margin == before)
    }

    /// As among busy threads: the thread gets its processor milliseconds late, whatever the margin.
    @Test func wakeUpsThatNoMarginCoversDoNotRaiseIt() {
        var run = SpinRun()
        run.run(2_000, every: Self.millisecond) { $0 % 20 == 0 ? 300_000 : 40_000 }
        #expect((42_000...46_000).contains(run.nextMargin()))
        run.run(2_000, every: Self.millisecond) { _ in 300_000 }
        #expect(run.nextMargin() == 100_000, "nothing is known")
    }

    @Test func aBudgetThatIsTooSmallForItsDeadlinesIsToldWithTheOneThatPays() throws {
        var run = SpinRun(budget: 0.1)
        run.run(20_000, every: 100_000) { UInt64($0 % 7) * 10_000 }
        let shortage = try #require(run.plan.shortage(at: run.now))
        #expect((60_000...66_000).contains(shortage.margin))
        #expect((0.6...0.66).contains(shortage.share))
        var enough = SpinRun(budget: shortage.share)
        enough.run(20_000, every: 100_000) { UInt64($0 % 7) * 10_000 }
        #expect(enough.plan.shortage(at: enough.now) == nil)
        run.run(1_000, every: 10 * Self.millisecond) { _ in 40_000 }
        #expect(run.plan.shortage(at: run.now) == nil, "it is of the last second")
        #expect(SpinRun().plan.shortage(at: run.now) == nil)
    }

    @Test func aSlowerMachineIsFollowedWithinTenDeadlines() {
        var run = SpinRun()
        run.run(2_000, every: Self.millisecond) { _ in 20_000 }
        run.run(10, every: Self.millisecond) { _ in 70_000 }
        let late = run.lateness.suffix(10).filter { $0 > 0 }.count
        #expect((1...9).contains(late))
        run.run(1_000, every: Self.millisecond) { _ in 70_000 }
        #expect(run.lateness.suffix(1_000).allSatisfy { $0 == 0 })
    }

    @Test func aFasterMachineIsFollowedWithinASecond() {
        var run = SpinRun()
        run.run(2_000, every: Self.millisecond) { _ in 70_000 }
        #expect(run.plan.margin > 70_000)
        run.run(1_001, every: Self.millisecond) { _ in 20_000 }
        #expect(run.plan.margin < 25_000)
    }

    /// Many short services, one after the other, would otherwise spin more than one that lives on.
    @Test func aNewPlanMaySpinOnceAndNotForAFullAllowance() {
        var run = SpinRun()
        run.run(10, every: 100_000) { _ in 0 }
        #expect(run.plan.cuts == 9)
        #expect(run.spins.reduce(0) { $0 + $1.end - $1.start } < 2 * 100_000)
    }

    /// Deadlines in bursts and pauses of any length, and wake-ups of any lateness.
    @Test(arguments: [0.001, 0.01, 0.1, 0.5, 0.9], [1_000, 100_000, 20_000_000] as [UInt64])
    func theBudgetHoldsInAnySecondOfAnySequence(budget: Double, maximum: UInt64) {
        for seed in 0..<Effort.of(1, thorough: 4) {
            var generator = SeededGenerator(seed: UInt64(seed))
            var run = SpinRun(maximum: maximum, budget: budget)
            for _ in 0..<50 {
                let period = UInt64(1) << UInt64.random(in: 8...28, using: &generator)
                let lateness = UInt64.random(in: 0...maximum * 2, using: &generator)
                run.run(Int.random(in: 1...200, using: &generator), every: period) { _ in lateness }
            }
            // Without a pause, and woken on time: the most that can be asked for.
            run.run(11_000, every: 100_000) { _ in 0 }
            #expect(run.spins.isEmpty == false)
            #expect(Double(run.busiestSecond) <= budget * 1e9)
        }
    }

    /// The thread is woken so late that it spins for less than the margin, and pays only for that.
    @Test func aShortBudgetSettlesAtTheUsualLatenessPlusWhatItPaysFor() {
        var run = SpinRun(budget: 0.05)
        var generator = SeededGenerator(seed: 2)
        run.run(20_000, every: 100_000) { _ in Self.around(20_000, &generator) }
        #expect((22_000...30_000).contains(run.plan.margin))
        #expect(run.lateness.suffix(5_000).filter { $0 == 0 }.count > 4_500)
        #expect(run.plan.share(at: run.now) <= 0.05)
        #expect(run.plan.share(at: run.now) > 0.03)
    }

    @Test func deadlinesForWhichTheBudgetIsTooShortAreCounted() {
        var run = SpinRun(budget: 0.01)
        run.run(20_000, every: 100_000) { number in UInt64(number % 7) * 10_000 }
        #expect((10_000...20_000).contains(run.plan.cuts))
    }

    @Test func aDeadlineThatIsDecidedTwiceIsCutOnce() {
        var run = SpinRun(budget: 0.001)
        run.run(1_000, every: Self.millisecond) { _ in 0 }
        var plan = run.plan
        let before = plan.cuts
        let deadline = run.now + Self.millisecond
        for _ in 0..<3 { _ = plan.margin(before: deadline) }
        #expect(plan.cuts == before + 1)
    }

    /// From a period of 10 ms on it may be as long as the longest, and the longer spin costs at most a fortieth.
    @Test func theMarginMayBeLongerBeforeARareDeadline() {
        for (period, longest) in [(1, 100_000), (3, 100_000), (8, 200_000), (10, 250_000), (50, 250_000)]
            as [(UInt64, UInt64)]
        {
            var run = SpinRun(budget: 0.5)
            run.run(2_000, every: period * Self.millisecond) { _ in 240_000 }
            #expect((longest...longest + 5_000).contains(run.nextMargin(in: period * Self.millisecond)))
        }
    }

    @Test func aTickAnHourCostsOneMargin() {
        var run = SpinRun()
        run.run(24, every: 3_600 * 1_000 * Self.millisecond) { _ in 0 }
        #expect(run.spins.count == 24)
        #expect(run.spins.dropFirst().allSatisfy { $0.end - $0.start == 250_000 })
        #expect(run.plan.cuts == 0)
    }

    @Test func aClockThatIsSetBackNeitherTrapsNorAddsToTheBudget() {
        var run = SpinRun(budget: 0.01)
        run.run(20_000, every: 100_000) { _ in 0 }
        var plan = run.plan
        let (past, margin) = (run.now / 2, plan.margin(before: run.now))
        #expect(margin < 2_000)
        #expect(plan.margin(before: past) <= margin)
        var wait = SpinPlan.Wait(alarm: past, woke: past + 1_000)
        wait.end = past + 50_000
        plan.learn(from: wait)
        #expect(plan.margin(before: past + 100_000) < 2_000)
        #expect(plan.share(at: past + 100_000) < 0.1)
    }

    /// Without an allowance the thread wakes too late to spin, so no spin brings the budget up to date.
    @Test func aUsedUpBudgetGrowsAgainAfterTheClockWasSetBack() {
        var run = SpinRun(budget: 0.001)
        run.run(20_000, every: 100_000) { _ in 20_000 }
        var plan = run.plan
        let past = run.now / 2
        plan.learn(from: SpinPlan.Wait(alarm: past, woke: past + 20_000))
        #expect(plan.margin(before: past + 1_000_000_000) > 100_000 / 2)
    }

    @Test func aStallDuringASpinIsNotSpinning() {
        var run = SpinRun()
        run.run(1_000, every: Self.millisecond) { _ in 20_000 }
        var plan = run.plan
        let before = plan.share(at: run.now)
        var wait = SpinPlan.Wait(alarm: run.now + 900_000, woke: run.now + 920_000)
        wait.end = wait.woke + 50 * Self.millisecond
        plan.learn(from: wait)
        #expect(plan.share(at: wait.end) <= before + 0.001)
    }

    @Test func withoutAMaximumNothingIsSpun() {
        var run = SpinRun(maximum: 0)
        run.run(1_000, every: Self.millisecond) { _ in 30_000 }
        #expect(run.spins.isEmpty)
        #expect(run.lateness.allSatisfy { $0 == 30_000 })
        #expect(run.plan.cuts == 0)
    }
}
