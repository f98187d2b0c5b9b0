import PreciseTimer
import TestSupport
import Testing
import TimerAlarms

/// A thread stays awake for a gap that costs less than a sleep, and keeps its budget.
@Suite struct ShortGapsTests {
    /// Gaps whose thread knows that a sleep costs 20 µs.
    private static var learned: ShortGaps {
        var gaps = ShortGaps()
        gaps.learn(price: 20_000)
        return gaps
    }

    @Test func withoutAMeasuredSleepNoGapIsWaitedForAwake() {
        var gaps = ShortGaps()
        #expect(gaps.choice(for: 1, at: 0) == .measureSleep)
        #expect(gaps.choice(for: 1, at: 0) == .sleep)
    }

    @Test func aGapOfUpToTwoFifthsOfThePriceOfASleepIsNotSlept() {
        var gaps = Self.learned
        #expect(gaps.choice(for: 8_000, at: 0) == .stayAwake)
        #expect(gaps.choice(for: 8_001, at: 0) != .stayAwake)
    }

    @Test func thePriceFollowsTheSleepsAndIsBounded() {
        var gaps = Self.learned
        for _ in 0..<40 { gaps.learn(price: 8_000) }
        #expect((3_200...3_280).contains(gaps.worthwhile))
        for _ in 0..<40 { gaps.learn(price: .max) }
        #expect(gaps.worthwhile == ShortGaps.bound)
    }

    @Test func oneUnusualSleepHardlyChangesThePrice() {
        var gaps = Self.learned
        gaps.learn(price: 100_000)
        #expect(gaps.worthwhile == 12_000)
        gaps = Self.learned
        gaps.learn(price: 0)
        #expect(gaps.worthwhile == 7_000)
    }

    @Test func everySixteenthShortSleepIsMeasuredAndNoLongOne() {
        var gaps = ShortGaps()
        #expect((0..<160).count { _ in gaps.choice(for: 50_000, at: 0) == .measureSleep } == 10)
        #expect((0..<160).count { _ in gaps.choice(for: 100_001, at: 0) == .measureSleep } == 0)
    }

    /// Gaps of all lengths, one directly after the other: the thread would never sleep.
    @Test(arguments: [0, 0.1, 0.5, 0.9])
    func theTimeAwakeKeepsItsBudgetInAnySecond(other: Double) {
        var gaps = ShortGaps(beside: other)
        gaps.learn(price: 100_000)
        var generator = SeededGenerator(seed: 3)
        var now: UInt64 = 1_000_000_000_000
        var waits: [(start: UInt64, end: UInt64)] = []
        while now < 1_003_000_000_000 {
            let gap = UInt64.random(in: 1...25_000, using: &generator)
            let isAwake = gaps.choice(for: gap, at: now) == .stayAwake
            if isAwake { waits.append((now, now + gap)) }
            now += gap
            if isAwake { gaps.pay(gap, at: now) }
        }
        var (first, sum, most) = (0, UInt64(0), UInt64(0))
        for (start, end) in waits {
            sum += end - start
            while waits[first].end + 1_000_000_000 < end {
                sum -= waits[first].end - waits[first].start
                first += 1
            }
            most = max(most, sum)
        }
        let share = min(ShortGaps.share, max(0.9 - other, 0))
        #expect(Double(most) <= share * 1e9 + 1)
        #expect(Double(most) >= share * 0.9e9)
    }

    @Test func aThreadThatAlwaysSleepsNeverStaysAwake() {
        var gaps = ShortGaps.none
        gaps.learn(price: 50_000)
        #expect(gaps.choice(for: 1, at: 1_000_000_000) != .stayAwake)
        #expect(gaps.longestStretch == 0)
    }
}

/// In the end, one decision in two hundred takes longer than the lead.
@Suite struct LeadLengthTests {
    @Test func aSlowDecisionIsFollowedWithinTenTicks() {
        var lead = Lead()
        for _ in 0..<8 { lead.learn(decision: 9_500) }
        #expect(lead.length == 10_000)
    }

    @Test func inTheEndOneDecisionInTwoHundredTakesLonger() {
        var (lead, generator) = (Lead(), SeededGenerator(seed: 4))
        var later = 0
        for number in 0..<200_000 {
            let decision = UInt64.random(in: 3_000...12_000, using: &generator)
            if number >= 100_000, decision > lead.length { later += 1 }
            lead.learn(decision: decision)
        }
        #expect((350...650).contains(later))
    }

    @Test func aStallHardlyMovesIt() {
        var lead = Lead(length: 4_000)
        lead.learn(decision: 5_000_000)
        #expect(lead.length == 5_000)
    }

    @Test func itIsBounded() {
        var lead = Lead()
        for _ in 0..<100 { lead.learn(decision: .max) }
        #expect(lead.length == Lead.longest)
        for _ in 0..<10_000 { lead.learn(decision: 0) }
        #expect(lead.length == Lead.shortest)
    }
}
