import PreciseTimer
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

// How a thread spends awake time: before a deadline, and in gaps that are too short for a sleep.

private let millisecond: UInt64 = 1_000_000

/// The margin before a deadline follows the wake-ups and keeps the budget.
struct SpinPlanTests {
    /// One wake-up in two hundred may be later than the margin, and not one fewer.
    @Test(arguments: [(2, false), (3, true)])
    func twoSpikesInFourHundredDoNotRaiseTheMargin(count: Int, isRaised: Bool) {
        let run = SpinRun(400) { $0 % 100 == 50 && $0 / 100 < count ? 90_000 : 40_000 }
        #expect((run.nextMargin() > 90_000) == isRaised)
    }

    /// As among busy threads: the thread gets its processor milliseconds late, whatever the margin.
    @Test func wakeUpsThatNoMarginCoversDoNotRaiseIt() {
        var run = SpinRun(2_000) { $0 % 20 == 0 ? 300_000 : 40_000 }
        #expect((42_000...46_000).contains(run.nextMargin()))
        run.run(2_000) { _ in 300_000 }
        #expect(run.nextMargin() == 100_000, "nothing is known")
    }

    /// A thread with a runtime of 50 µs in each millisecond would get no processor after a spin of 100 µs.
    @Test func halfOfARuntimeIsLeftForHandlers() {
        let runtime = ThreadSetting.Runtime(50_000, in: millisecond)
        var plan = SpinPlan(maximum: 100_000, budget: 0.1, runtime: runtime)
        #expect([plan.margin, plan.maximum] == [25_000, 25_000] && plan.budgetShare == 0.025)
        // Also before a rare deadline, for which a spin is longer.
        #expect((1...100).allSatisfy { plan.margin(before: $0 * 1_000 * millisecond) <= 25_000 })
        let ample = SpinPlan(maximum: 100_000, budget: 0.1, runtime: ThreadSetting.Runtime(300_000, in: millisecond))
        #expect(ample.margin == 100_000 && ample.budgetShare == 0.1)
        #expect([plan, ample].map(\.isLimitedByRuntime) == [true, false])
    }

    @Test func aBudgetThatIsTooSmallForItsDeadlinesIsToldWithTheOneThatPays() throws {
        var run = SpinRun(20_000, every: 100_000) { UInt64($0 % 7) * 10_000 }
        let shortage = try #require(run.plan.shortage(at: run.now))
        #expect((60_000...66_000).contains(shortage.margin) && (0.6...0.66).contains(shortage.share))
        let enough = SpinRun(20_000, every: 100_000, budget: shortage.share) { UInt64($0 % 7) * 10_000 }
        run.run(1_000, every: 10 * millisecond) { _ in 40_000 }
        let later = [enough, run, SpinRun()].map { $0.plan.shortage(at: $0.now)?.margin }
        #expect(later == [nil, nil, nil], "it is of the last second")
    }

    @Test func aSlowerMachineIsFollowedWithinTenDeadlinesAndAFasterOneWithinASecond() {
        var run = SpinRun(2_000) { _ in 20_000 }
        run.run(10) { _ in 70_000 }
        #expect((1...9).contains(run.late(of: 10)))
        run.run(1_000) { _ in 70_000 }
        #expect(run.late(of: 1_000) == 0 && run.plan.margin > 70_000)
        run.run(1_001) { _ in 20_000 }
        #expect(run.plan.margin < 25_000)
    }

    /// Many short services, one after the other, would otherwise spin more than one that lives on.
    @Test func aNewPlanMaySpinOnceAndNotForAFullAllowance() {
        let run = SpinRun(10, every: 100_000) { _ in 0 }
        #expect(run.plan.cuts == 9 && run.spins.reduce(0) { $0 + $1.end - $1.start } < 2 * 100_000)
    }

    /// Deadlines in bursts and pauses of any length, and wake-ups of any lateness.
    @Test(
        arguments: Effort.isThorough ? [0.001, 0.01, 0.1, 0.5, 0.9] : [0.001, 0.1, 0.9],
        [1_000, 100_000, 20_000_000] as [UInt64]
    )
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
            let busiest = Double(busiestSecond(of: run.spins))
            #expect(busiest > 0 && busiest <= budget * 1e9)
        }
    }

    /// The thread is woken so late that it spins for less than the margin, and pays only for that.
    @Test func aShortBudgetSettlesAtTheUsualLatenessPlusWhatItPaysFor() {
        var generator = SeededGenerator(seed: 2)
        let run = SpinRun(20_000, every: 100_000, budget: 0.05) { _ in around(20_000, &generator) }
        #expect((22_000...30_000).contains(run.plan.margin) && run.late(of: 5_000) < 500)
        #expect((0.03...0.05).contains(run.plan.share(at: run.now)))
    }

    @Test func aDeadlineForWhichTheBudgetIsTooShortIsCountedOnce() {
        let cuts = SpinRun(20_000, every: 100_000, budget: 0.01) { UInt64($0 % 7) * 10_000 }.plan.cuts
        #expect((10_000...20_000).contains(cuts))
        let run = SpinRun(1_000, budget: 0.001) { _ in 0 }
        var plan = run.plan
        for _ in 0..<3 { _ = plan.margin(before: run.now + millisecond) }
        #expect(plan.cuts == run.plan.cuts + 1)
    }

    /// From a period of 10 ms on it may be as long as the longest, and the longer spin costs at most a fortieth.
    @Test(arguments: [(1, 100_000), (3, 100_000), (8, 200_000), (10, 250_000), (50, 250_000)] as [(UInt64, UInt64)])
    func theMarginMayBeLongerBeforeARareDeadline(period: UInt64, longest: UInt64) {
        let run = SpinRun(2_000, every: period * millisecond, budget: 0.5) { _ in 240_000 }
        #expect((longest...longest + 5_000).contains(run.nextMargin(in: period * millisecond)))
    }

    @Test func aClockThatIsSetBackNeitherTrapsNorAddsToTheBudget() {
        let run = SpinRun(20_000, every: 100_000, budget: 0.01) { _ in 0 }
        var plan = run.plan
        let (past, margin) = (run.now / 2, plan.margin(before: run.now))
        #expect(margin < 2_000 && plan.margin(before: past) <= margin)
        learn(&plan, alarm: past, woke: past + 1_000, end: past + 50_000)
        #expect(plan.margin(before: past + 100_000) < 2_000 && plan.share(at: past + 100_000) < 0.1)
    }

    /// Without an allowance the thread wakes too late to spin, so no spin brings the budget up to date.
    @Test func aUsedUpBudgetGrowsAgainAfterTheClockWasSetBack() {
        let run = SpinRun(20_000, every: 100_000, budget: 0.001) { _ in 20_000 }
        var plan = run.plan
        let past = run.now / 2
        learn(&plan, alarm: past, woke: past + 20_000, end: past + 20_000)
        #expect(plan.margin(before: past + 1_000_000_000) > 100_000 / 2)
    }

    @Test func aStallDuringASpinIsNotSpinning() {
        let run = SpinRun(1_000) { _ in 20_000 }
        var plan = run.plan
        let woke = run.now + 920_000
        learn(&plan, alarm: run.now + 900_000, woke: woke, end: woke + 50 * millisecond)
        #expect(plan.share(at: woke + 50 * millisecond) <= run.plan.share(at: run.now) + 0.001)
    }

    @Test func withoutAMaximumNothingIsSpun() {
        let run = SpinRun(1_000, maximum: 0) { _ in 30_000 }
        #expect(run.spins.isEmpty && run.plan.cuts == 0 && run.lateness.allSatisfy { $0 == 30_000 })
    }

    /// Wake-ups around a lateness, with a few percent of spread.
    private func around(_ lateness: UInt64, _ generator: inout SeededGenerator) -> UInt64 {
        UInt64.random(in: lateness * 95 / 100...lateness * 105 / 100, using: &generator)
    }

    private func learn(_ plan: inout SpinPlan, alarm: UInt64, woke: UInt64, end: UInt64) {
        var wait = SpinPlan.Wait(alarm: alarm, woke: woke)
        wait.end = end
        plan.learn(from: wait)
    }
}

/// A thread stays awake for a gap that costs less than a sleep, and keeps its budget.
struct ShortGapsTests {
    /// Gaps whose thread knows that a sleep costs 20 µs.
    private var learned: ShortGaps {
        var gaps = ShortGaps()
        gaps.learn(price: 20_000)
        return gaps
    }

    @Test func aMeasuredGapOfUpToTwoFifthsOfThePriceOfASleepIsNotSlept() {
        var gaps = ShortGaps()
        #expect((0..<2).map { _ in gaps.choice(for: 1, at: 0) } == [.measureSleep, .sleep], "nothing is known")
        gaps = learned
        #expect(gaps.choice(for: 8_000, at: 0) == .stayAwake && gaps.choice(for: 8_001, at: 0) != .stayAwake)
        gaps = ShortGaps.none
        gaps.learn(price: 50_000)
        #expect(gaps.choice(for: 1, at: 1_000_000_000) != .stayAwake && gaps.longestStretch == 0)
    }

    @Test func thePriceFollowsTheSleepsSlowlyAndIsBounded() {
        let all: [(price: UInt64, count: Int, worthwhile: ClosedRange<UInt64>)] = [
            (100_000, 1, 12_000...12_000), (0, 1, 7_000...7_000), (8_000, 40, 3_200...3_280),
            (.max, 1, 12_000...12_000), (.max, 40, ShortGaps.bound...ShortGaps.bound),
        ]
        for (price, count, worthwhile) in all {
            var gaps = learned
            for _ in 0..<count { gaps.learn(price: price) }
            #expect(worthwhile.contains(gaps.worthwhile), "\(price)")
        }
    }

    @Test func everySixteenthShortSleepIsMeasuredAndNoLongOne() {
        var gaps = ShortGaps()
        func measured(_ gap: UInt64) -> Int {
            (0..<160).count { _ in gaps.choice(for: gap, at: 0) == .measureSleep }
        }
        #expect([measured(50_000), measured(100_001)] == [10, 0])
    }

    @Test(arguments: [0, 0.1, 0.5])
    func theTimeAwakeHasTheBudgetThatASpinnerLeaves(other: Double) {
        let budget = SpinBudget(share: min(ShortGaps.share, 0.9 - other), maximum: ShortGaps.bound)
        var gaps = ShortGaps(beside: other)
        #expect(gaps.longestStretch == budget.longest)
        gaps.learn(price: 100_000)
        gaps.pay(budget.capacity, at: 1)
        let isAwake = [1, 1_000_000_000].map { gaps.choice(for: 1_000, at: $0) == .stayAwake }
        #expect(isAwake == [false, true])
    }
}

/// A thread that spins from 900 until 1,000, by the readings of a clock, which stops at the last one.
private final class SpinningSteps: SleeperSteps {
    var readings: [UInt64]
    var lead: UInt64 { 0 }

    init(_ readings: [UInt64]) { self.readings = readings }

    func readClock() -> UInt64 { readings.count > 1 ? readings.removeFirst() : readings[0] }
    func readDeadline() -> UInt64 { 1_000 }
    func decideMargin(before _: UInt64) -> UInt64 { 100 }
    func readLastMargin() -> UInt64 { 100 }
    func useUp(_: UInt64) -> Bool { true }
    func readWakesBy() -> UInt64 { 0 }
    func readIsStopped() -> Bool { false }
    func store(deadline _: UInt64) {}
    func store(wakesBy _: UInt64) {}
    func storeIsStopped() {}
    func setTimer(_: UInt64) {}
    func sleepInKernel(until _: UInt64) {}
    func shortenSleep(to _: UInt64) {}
    func wake() {}
    func fires(for _: UInt64, at _: UInt64) {}
    func learn(from _: SpinPlan.Wait) {}
}

/// The steps of a spin. (``SleeperTests`` have all orders, and a clock that only goes on.)
struct SpinStepsTests {
    /// Otherwise the thread would spin for as long as the clock was set back.
    @Test func aSpinIsOverIfTheClockIsSetBackToBeforeItsBeginning() {
        let (steps, fires) = (SpinningSteps([950, 900, 899, 1_000]), Count())
        var gaps = ShortGaps.none
        #expect(steps.waitAndFire(&gaps) { fires.add(1) })
        #expect(steps.readings == [1_000] && fires.value == 1, "only the firing before the spin")
    }
}

/// In the end, one decision in two hundred takes longer than the lead.
struct LeadLengthTests {
    @Test func aSlowDecisionIsFollowedWithinTenTicksAndAStallHardlyMovesIt() {
        let learned = [(9_500, 8, 10_000), (5_000_000, 1, 3_000), (.max, 100, Lead.longest)] as [(UInt64, Int, UInt64)]
        for (decision, count, length) in learned {
            var lead = Lead()
            for _ in 0..<count { lead.learn(decision: decision) }
            #expect(lead.length == length)
            lead.learn(decision: 0)
            #expect(lead.length == length - 5, "one decision in two hundred takes longer in the end")
            for _ in 0..<10_000 { lead.learn(decision: 0) }
            #expect(lead.length == Lead.shortest)
        }
    }
}

/// A stretch of time awake.
private struct Spin {
    let start: UInt64
    let end: UInt64
}

/// The most that was spun in any second. A second with the most of it begins with a spin or ends with one.
private func busiestSecond(of spins: [Spin]) -> UInt64 {
    let second: UInt64 = 1_000_000_000
    var sums: [UInt64] = [0]
    for spin in spins { sums.append(sums[sums.count - 1] + spin.end - spin.start) }
    // What was spun before an instant.
    func spun(before instant: UInt64) -> UInt64 {
        var (low, high) = (0, spins.count)
        while low < high {
            let middle = (low + high) / 2
            if spins[middle].end <= instant { low = middle + 1 } else { high = middle }
        }
        let isCut = low < spins.count && spins[low].start < instant
        return sums[low] + (isCut ? instant - spins[low].start : 0)
    }
    let starts = spins.flatMap { [$0.start, $0.end - second] }
    return starts.map { spun(before: $0 + second) - spun(before: $0) }.max() ?? 0
}

/// A thread that waits for deadlines as its plan decides, in virtual time. All lengths are in nanoseconds.
private struct SpinRun {
    private(set) var plan: SpinPlan
    private(set) var now: UInt64 = 1_000_000_000_000
    /// Every spin, and how late each deadline was served, in the order of time.
    private(set) var spins: [Spin] = []
    private(set) var lateness: [UInt64] = []

    /// A run that has waited for some deadlines.
    init(
        _ count: Int = 0,
        every period: UInt64 = millisecond,
        maximum: UInt64 = 100_000,
        budget: Double = 0.1,
        wakeUp: (Int) -> UInt64 = { _ in 0 }
    ) {
        plan = SpinPlan(maximum: maximum, budget: budget)
        run(count, every: period, wakeUp: wakeUp)
    }

    /// The margin before a deadline after some time, by default a millisecond.
    func nextMargin(in time: UInt64 = millisecond) -> UInt64 {
        var plan = plan
        return plan.margin(before: now + time)
    }

    /// How many of the last deadlines were served late.
    func late(of count: Int) -> Int { lateness.suffix(count).count { $0 > 0 } }

    /// Waits for a number of deadlines, one period after the other. The kernel wakes the thread late by `wakeUp`.
    mutating func run(_ count: Int, every period: UInt64 = millisecond, wakeUp: (Int) -> UInt64) {
        var deadline = now
        for number in 0..<count {
            deadline = max(deadline, now) + period
            let alarm = deadline - plan.margin(before: deadline)
            var wait = SpinPlan.Wait(alarm: alarm > now ? alarm : nil, woke: alarm > now ? alarm + wakeUp(number) : now)
            wait.end = max(wait.woke, deadline)
            if wait.end > wait.woke { spins.append(Spin(start: wait.woke, end: wait.end)) }
            now = wait.end
            lateness.append(now - deadline)
            plan.learn(from: wait)
        }
    }
}

/// When a real-time thread that is behind sleeps once.
struct RealTimeRestTests {
    @Test func aThreadThatHasNotSleptForHalfOfTheLimitMustSleep() {
        var rest = RealTimeRest(limit: 200)
        let askings: [(ran: UInt64, sleeps: Int)] = [
            (5, 1), (104, 1), (105, 1), (300, 2), (399, 2), (400, 3), (500, 3),
        ]
        let due = askings.map { rest.isDue(ran: $0.ran, sleeps: $0.sleeps) }
        #expect(due == [false, false, true, false, false, false, true])
    }

    @Test func aThreadOfWhichTheSystemTellsNothingSleepsEachTime() {
        var rest = RealTimeRest(limit: 200)
        #expect(rest.isDue(ran: nil, sleeps: 1) && rest.isDue(ran: 1, sleeps: nil))
    }
}
