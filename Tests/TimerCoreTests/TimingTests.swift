import PreciseTimer
import Testing

/// When one timer ticks, as a value: it is told the time, and says what is due.
final class TimingTests {
    private var timing = Timing()
    private var random = SeededGenerator(seed: 1)

    // MARK: Beginning

    @Test func withoutAScheduleThereIsNoDeadline() {
        #expect(timing.nextDeadline == .max && timing.wakeTime == .max)
        #expect(timing.takeTick(at: .max) == nil)
        #expect(timing.period == nil && timing.fixedDelay == nil && !timing.isRepeating)
    }

    @Test func theFirstDeadlineIsThatOfTheStart() {
        let starts: [(ScheduleStart<UInt64, UInt64>, UInt64)] = [
            (.after(7), 107), (.after(.max), .max), (.afterOneStep, 130), (.at(20), 20), (.aligned(to: 5), 125),
            (.aligned(to: 1_000), 130), (.never, .max),
        ]
        for (start, first) in starts {
            begin(ResolvedSchedule(start, .every(30)), at: 100)
            #expect(timing.nextDeadline == first, "\(start)")
        }
        for (start, first) in starts where start != .aligned(to: 5) && start != .aligned(to: 1_000) {
            begin(ResolvedSchedule(start, .rate(1, per: 30)), at: 100)
            #expect(timing.nextDeadline == first, "\(start)")
        }
    }

    @Test func aTimingTellsItsSteps() {
        begin(every(30, from: 30))
        #expect(timing.period == Period(nanoseconds: 30) && timing.leastPeriod == 30 && timing.isRepeating)
        begin(ResolvedSchedule(.afterOneStep, .rate(3, per: 100)))
        #expect(timing.period == Period(nanoseconds: 100, count: 3) && timing.leastPeriod == 33)
        begin(ResolvedSchedule(.after(5), .fixedDelay(40)))
        #expect(timing.period == nil && timing.fixedDelay == 40 && timing.leastPeriod == .max && timing.isRepeating)
        begin(ResolvedSchedule(.at(5), .computed))
        #expect(timing.period == nil && timing.fixedDelay == nil && timing.isComputed && timing.isRepeating)
        begin(once(at: 5))
        #expect(timing.period == nil && timing.fixedDelay == nil && !timing.isComputed && !timing.isRepeating)
    }

    @Test func aTimingOnDemandStaysSo() {
        begin(onDemand)
        #expect(timing.isOnDemand && timing.nextDeadline == .max)
        begin(every(10, from: 10))
        #expect(timing.isOnDemand && deadlines(2) == [10, 20])
    }

    @Test func anotherScheduleBeginsAtZeroAndDropsTheExtraTick() {
        begin(every(10, from: 10))
        #expect(tick(at: 35) == due(0, 10, missed: 2))
        timing.askForExtra(at: 36)
        begin(once(at: 50))
        #expect(timing.nextDeadline == 50)
        #expect(tick(at: 60) == due(0, 50))
        #expect(tick(at: .max) == nil)
    }

    /// What few timings need is made from the former schedule.
    @Test(arguments: [0, 1, 10] as [UInt64])
    func aPeriodicTimingTakesAScheduleWithACount(delay: UInt64) {
        begin(every(10, from: 10))
        begin(ResolvedSchedule(.after(delay), .every(20), .init(count: 2)), at: 100)
        #expect(deadlines(3) == [100 + delay, 120 + delay])
    }

    // MARK: Ticking

    @Test(arguments: [(599, 0), (600, 1), (601, 1), (899, 1), (900, 2), (3_600_000_000_300, 12_000_000_000)])
    func missedCountsTheLaterDeadlinesThatHavePassed(now: UInt64, missed: UInt64) {
        for modifiers in [nil, ResolvedSchedule.Modifiers()] {
            begin(ResolvedSchedule(.at(300), .every(300), modifiers))
            #expect(tick(at: 299) == nil)
            #expect(tick(at: now) == due(0, 300, missed: missed))
            #expect(timing.nextDeadline == 300 * (missed + 2))
        }
    }

    @Test func missedDeadlinesOfAOneNanosecondPeriodAreCountedAtOnce() {
        begin(every(1, from: 0))
        let hour: UInt64 = 3_600_000_000_000
        #expect(tick(at: hour) == due(0, 0, missed: hour))
        #expect(timing.nextDeadline == hour + 1)
    }

    @Test func theStepsOfARateAreRoundedUpAndDoNotDrift() {
        begin(ResolvedSchedule(.afterOneStep, .rate(3, per: 100)), at: 1_000)
        #expect(deadlines(4) == [1_034, 1_067, 1_100, 1_134])
        #expect(tick(at: 1_300) == due(4, 1_167, missed: 4))
        #expect(timing.nextDeadline == 1_334)
    }

    @Test func aSingleDeadlineHasOneTickAndMissesNone() {
        begin(once(at: 5))
        #expect(tick(at: 1_000) == due(0, 5))
        #expect(timing.nextDeadline == .max && tick(at: .max) == nil)
        timing.askForExtra(at: 1_001)
        #expect(tick(at: 1_001) == due(1, 1_001, isExtra: true))
    }

    @Test func aFixedDelayIsUnknownBeforeTheReturn() {
        begin(ResolvedSchedule(.at(5), .fixedDelay(10)))
        #expect(timing.awaitsReturn == false)
        #expect(tick(at: 90) == due(0, 5), "no deadline passes before the return")
        #expect(timing.nextDeadline == .max && timing.awaitsReturn)
        timing.handlerReturned(at: 100)
        #expect(timing.nextDeadline == 110 && !timing.awaitsReturn)
        #expect(tick(at: 110) == due(1, 110))
    }

    @Test func aScheduleWithACountEndsWithIt() {
        begin(ResolvedSchedule(.at(10), .every(10), .init(count: 2)))
        #expect(tick(at: 35) == due(0, 10, missed: 2), "a tick counts once, however many it has missed")
        #expect(timing.isCountedOut == false)
        #expect(tick(at: 40) == due(3, 40))
        #expect(timing.isCountedOut && timing.nextDeadline == .max)
        begin(ResolvedSchedule(.at(10), .fixedDelay(10), .init(count: 1)))
        #expect(tick(at: 10) == due(0, 10))
        #expect(timing.isCountedOut && !timing.awaitsReturn)
    }

    @Test func numbersAndDeadlinesSaturate() {
        begin(every(.max / 2, from: .max / 2))
        #expect(tick(at: .max / 2) == due(0, .max / 2))
        #expect(tick(at: .max - 1) == due(1, .max - 1))
        #expect(timing.nextDeadline == .max && tick(at: .max) == nil, "the next one is never")
        begin(every(1, from: 0))
        #expect(tick(at: .max - 1)?.missed == UInt64.max - 2, "just below the greatest number")
        begin(ResolvedSchedule(.at(.max - 5), .rate(1, per: 10)))
        #expect(tick(at: .max) == due(0, .max - 5))
        #expect(timing.nextDeadline == .max)
        begin(ResolvedSchedule(.at(1), .fixedDelay(.max)))
        #expect(tick(at: 1) == due(0, 1))
        timing.handlerReturned(at: 2)
        #expect(timing.nextDeadline == .max && !timing.awaitsReturn, "never, and not unknown")
    }

    // MARK: Late ticks

    @Test func aTimingThatCatchesUpHasATickForEachOfSomeLateDeadlines() {
        timing = Timing(burstLimit: 3)
        begin(every(10, from: 10))
        #expect(tick(at: 65) == due(0, 10))
        #expect(timing.catchesUp(at: 65) == true)
        #expect(tick(at: 65) == due(1, 20))
        #expect(timing.catchesUp(at: 65) && !timing.isTheRest)
        #expect(tick(at: 65) == due(2, 30, missed: 3))
        #expect(timing.isTheRest && !timing.catchesUp(at: 65))
        #expect(tick(at: 70) == due(6, 70))
    }

    @Test func aBurstThatIsStoppedBeginsAnew() {
        timing = Timing(burstLimit: 2)
        begin(every(10, from: 10))
        #expect(tick(at: 65) == due(0, 10))
        timing.stopCatchingUp()
        #expect(timing.catchesUp(at: 65) == false)
        #expect(tick(at: 65) == due(1, 20))
        #expect(timing.catchesUp(at: 29) == false, "the next one was not late then")
        #expect(tick(at: 65) == due(2, 30))
    }

    @Test func aTimingWithoutABurstDoesNotCatchUp() {
        begin(every(10, from: 10))
        #expect(tick(at: 65) == due(0, 10, missed: 5))
        timing.askForExtra(at: 65)
        #expect(timing.catchesUp(at: 65) == false)
    }

    /// A computed deadline is taken first, and the others that it stands for are counted later.
    @Test func aRequestAfterTheTickChangesNothingOfWhatTheTickStandsFor() {
        begin(ResolvedSchedule(.at(10), .computed))
        #expect(tick(at: 65) == due(0, 10, isComputed: true))
        #expect(timing.isTheRest == true)
        timing.askForExtra(at: 66)
        #expect(timing.isTheRest == true)
    }

    @Test(arguments: [ResolvedSchedule.Modifiers?.none, .init(count: 3)])
    func aLateTickRestartsTheGridIfItHasMissedDeadlines(modifiers: ResolvedSchedule.Modifiers?) {
        timing = Timing(restartsLate: true)
        begin(ResolvedSchedule(.at(300), .every(300), modifiers))
        #expect(tick(at: 599) == due(0, 300))
        #expect(timing.nextDeadline == 600, "late by less than a period")
        #expect(tick(at: 951) == due(1, 600, missed: 1))
        #expect(timing.nextDeadline == 1_251)
        #expect(tick(at: 1_251) == due(3, 1_251))
    }

    @Test func aRateThatRestartsKeepsItsSteps() {
        timing = Timing(restartsLate: true)
        begin(ResolvedSchedule(.at(0), .rate(3, per: 100)))
        #expect(tick(at: 50) == due(0, 0, missed: 1))
        #expect(deadlines(3) == [84, 117, 150])
    }

    // MARK: Tolerance

    @Test(arguments: [(0, 1_001), (1, 1_001), (2, 1_002), (3, 1_002), (4, 1_004), (1_023, 1_024), (1_024, 1_024)])
    func theWakeTimeIsAMultipleOfTheLargestPowerOfTwoWithinTheTolerance(tolerance: UInt64, wakeTime: UInt64) {
        timing = Timing(tolerance: tolerance)
        begin(once(at: 1_001))
        #expect(timing.wakeTime == wakeTime && timing.nextDeadline == 1_001)
    }

    @Test func anUnlimitedToleranceStillLeadsToAWakeTime() {
        timing = Timing(tolerance: .max)
        for (deadline, wakeTime) in [(5, 1 << 63), (1 << 63 + 1, 1 << 63 + 1), (.max, .max)] as [(UInt64, UInt64)] {
            begin(once(at: deadline))
            #expect(timing.wakeTime == wakeTime)
        }
    }

    @Test func aToleranceMovesNoGridAndDelaysNoExtraTick() {
        timing = Timing(tolerance: 100)
        begin(every(300, from: 300))
        #expect(timing.wakeTime == 320, "the first multiple of 64")
        #expect(tick(at: 320) == due(0, 300))
        #expect(timing.wakeTime == 640 && timing.nextDeadline == 600)
        timing.askForExtra(at: 450)
        #expect(timing.wakeTime == 450)
    }

    // MARK: Extra ticks

    @Test func anExtraTickChangesNoGridAndSharesARequest() {
        begin(every(300, from: 300))
        #expect(tick(at: 300) == due(0, 300))
        timing.askForExtra(at: 460)
        timing.askForExtra(at: 450)
        timing.askForExtra(at: 470)
        #expect(timing.nextDeadline == 450)
        #expect(tick(at: 480) == due(1, 450, isExtra: true))
        #expect(tick(at: 599) == nil)
        #expect(tick(at: 900) == due(1, 600, missed: 1))
    }

    @Test func anExtraTickReplacesNoLateTick() {
        begin(every(300, from: 300))
        timing.askForExtra(at: 100)
        #expect(tick(at: 650) == due(0, 100, isExtra: true))
        #expect(tick(at: 650) == due(0, 300, missed: 1))
    }

    @Test func anExtraTickDoesNotCount() {
        begin(ResolvedSchedule(.at(10), .every(10), .init(count: 1)))
        timing.askForExtra(at: 5)
        #expect(tick(at: 5) == due(0, 5, isExtra: true))
        #expect(tick(at: 10) == due(0, 10))
    }

    // MARK: Finishing

    @Test(arguments: [(300, 0), (599, 0), (951, 2)])
    func oneTickStandsForTheDeadlinesThatPassedBeforeTheEnd(now: UInt64, missed: UInt64) {
        for burstLimit in [1, 3] {
            timing = Timing(burstLimit: burstLimit)
            begin(every(300, from: 300))
            timing.finish(at: now)
            #expect(timing.isFinishing && timing.nextDeadline == 300)
            #expect(tick(at: 2_000) == due(0, 300, missed: missed))
            #expect(timing.nextDeadline == .max && timing.isCountedOut)
        }
    }

    @Test func anExtraTickStandsForALaterDeadline() {
        for schedule in [every(300, from: 300), once(at: 300), onDemand, ResolvedSchedule(.at(300), .fixedDelay(9))] {
            begin(schedule)
            timing.finish(at: 100)
            timing.finish(at: 200)
            #expect(timing.nextDeadline == 100, "finishing again changes nothing")
            #expect(tick(at: 400) == due(0, 100, isExtra: true))
            #expect(timing.nextDeadline == .max)
        }
    }

    @Test func aFixedDelayThatIsFinishedInItsHandlerTicksOnceMore() {
        begin(ResolvedSchedule(.at(100), .fixedDelay(50)))
        #expect(tick(at: 110) == due(0, 100))
        timing.finish(at: 120)
        #expect(timing.awaitsReturn == false)
        #expect(tick(at: 130) == due(1, 120, isExtra: true))
        #expect(timing.nextDeadline == .max)
    }

    @Test func anotherScheduleEndsTheFinish() {
        begin(every(300, from: 300))
        timing.finish(at: 100)
        begin(every(10, from: 200))
        #expect(!timing.isFinishing && deadlines(3) == [200, 210, 220])
    }

    // MARK: Standing still

    @Test func aHoldMovesAllDeadlinesByItsTime() {
        for schedule in [every(300, from: 300), ResolvedSchedule(.at(300), .rate(1, per: 300))] {
            begin(schedule)
            timing.hold(at: 100)
            #expect(timing.isHeld && timing.knownDeadline == .max)
            #expect(timing.remaining(at: 5_000) == 200)
            timing.release(at: 1_100)
            #expect(!timing.isHeld && timing.knownDeadline == 1_300)
            #expect(deadlines(2) == [1_300, 1_600])
        }
    }

    @Test func aLateDeadlineStaysAsLateAsItWas() {
        begin(every(300, from: 300))
        timing.hold(at: 400)
        #expect(timing.remaining(at: 2_000) == 0)
        timing.release(at: 1_400)
        #expect(tick(at: 1_400) == due(0, 1_300))
        #expect(timing.nextDeadline == 1_600)
    }

    @Test func aHoldMovesTheEndAndNotNever() {
        begin(ResolvedSchedule(.after(10), .every(10), .init(span: 25)), at: 0)
        timing.hold(at: 5)
        timing.release(at: 105)
        #expect(timing.end == 125 && deadlines(3) == [110, 120])
        begin(onDemand)
        timing.hold(at: 5)
        #expect(timing.remaining(at: 5) == nil)
        timing.release(at: .max)
        #expect(timing.nextDeadline == .max)
    }

    @Test func aHoldBeginsWithTheReturnOfAHandlerThatEndsInIt() {
        begin(ResolvedSchedule(.at(10), .fixedDelay(50)))
        #expect(tick(at: 10) == due(0, 10))
        timing.hold(at: 20)
        timing.handlerReturned(at: 30)
        #expect(timing.remaining(at: 500) == 50)
        timing.release(at: 1_000)
        #expect(timing.nextDeadline == 1_050)
    }

    @Test func aWallClockThatWasSetBackMovesNothing() {
        begin(once(at: 300))
        timing.hold(at: 200)
        timing.release(at: 100)
        #expect(timing.nextDeadline == 300)
    }

    @Test func theTimeThatRemainsIsNeverNegative() {
        begin(once(at: 300))
        #expect([0, 300, 900].map { timing.remaining(at: $0) } == [300, 0, 0])
        timing.askForExtra(at: 100)
        #expect(timing.remaining(at: 50) == 50)
        timing.hold(at: 50)
        #expect(timing.remaining(at: 60) == 250, "the extra tick comes with the end of the hold")
    }

    // MARK: Restarting, and other steps

    @Test func aRestartBeginsWithTheDelayOrAStep() {
        let schedules: [(ResolvedSchedule, first: [UInt64])] = [
            (ResolvedSchedule(.after(70), .once), [1_070]), (every(300, from: 5), [1_300, 1_600]),
            (ResolvedSchedule(.at(5), .rate(3, per: 100)), [1_034, 1_067, 1_100, 1_134]),
            (ResolvedSchedule(.at(5), .fixedDelay(20)), [1_020]),
            (ResolvedSchedule(.at(5), .every(10), .init(count: 2)), [1_010, 1_020]),
            (ResolvedSchedule(.after(5), .every(10), .init(span: 25)), [1_010, 1_020]),
            (ResolvedSchedule(.after(5), .every(10), .init(span: 5)), [1_010]),
        ]
        for (schedule, first) in schedules {
            begin(schedule)
            _ = tick(at: 500)
            #expect(timing.restart(at: 1_000, using: &random) == true)
            #expect(deadlines(first.count + 1).prefix(first.count) == first[...], "\(schedule)")
        }
    }

    @Test func aRestartOfADelayWithoutEndLeavesNoDeadline() {
        begin(ResolvedSchedule(.after(10), .fixedDelay(.max)))
        #expect(timing.restart(at: 5, using: &random) == true)
        #expect(timing.nextDeadline == .max && timing.fixedDelay == .max && !timing.awaitsReturn)
    }

    @Test func aScheduleThatDoesNotCountFromItsBeginningHasNoRestart() {
        for schedule in [once(at: 5), onDemand, ResolvedSchedule(.at(5), .computed)] {
            begin(schedule)
            #expect(timing.restart(at: 1_000, using: &random) == false, "\(schedule)")
        }
    }

    @Test func aRestartBeginsAtZeroWithoutAnExtraTick() {
        begin(ResolvedSchedule(.at(10), .every(10), .init(count: 2)))
        #expect(tick(at: 25) == due(0, 10, missed: 1))
        timing.askForExtra(at: 26)
        #expect(timing.restart(at: 30, using: &random) == true)
        #expect(tick(at: 40) == due(0, 40))
        #expect(tick(at: 50) == due(1, 50))
        #expect(timing.isCountedOut == true)
    }

    @Test func otherStepsKeepTheNextDeadlineAndItsNumber() {
        begin(every(100, from: 100))
        #expect(tick(at: 150) == due(0, 100))
        #expect(timing.changeSteps(to: ResolvedSchedule(.after(30), .every(30))) == true)
        #expect(timing.period == Period(nanoseconds: 30) && timing.nextDeadline == 200)
        #expect(tick(at: 265) == due(1, 200, missed: 2))
        #expect(timing.changeSteps(to: ResolvedSchedule(.afterOneStep, .rate(3, per: 100), .init(count: 2))) == true)
        #expect(tick(at: 290) == due(4, 290))
        #expect(tick(at: 400) == due(5, 324, missed: 2))
        #expect(timing.isCountedOut == true, "the count is that of the new steps")
    }

    @Test func withoutANextDeadlineThereAreNoOtherSteps() {
        begin(onDemand)
        #expect(timing.changeSteps(to: every(10, from: 10)) == false)
        begin(every(10, from: 10))
        timing.finish(at: 15)
        #expect(timing.changeSteps(to: every(20, from: 20)) == false)
        #expect(tick(at: 30) == due(0, 10))
    }

    // MARK: Computed deadlines

    @Test func aComputedDeadlineIsUnknownUntilItIsToldOf() {
        begin(ResolvedSchedule(.at(10), .computed))
        let first = tick(at: 100)
        #expect(first == due(0, 10, isComputed: true) && first?.missed == 0)
        #expect(timing.awaitsComputation && timing.nextDeadline == .max)
        timing.advance(to: 110, missed: 4)
        #expect(!timing.awaitsComputation && timing.nextDeadline == 110)
        #expect(tick(at: 110) == due(5, 110, isComputed: true))
        timing.advance(to: nil, missed: 0)
        #expect(timing.nextDeadline == .max && tick(at: .max) == nil)
    }

    @Test func aDeadlineThatIsComputedAnewKeepsItsNumber() {
        for modifiers in [nil, ResolvedSchedule.Modifiers()] {
            begin(ResolvedSchedule(.at(10), .computed, modifiers))
            _ = tick(at: 10)
            timing.advance(to: 20, missed: 0)
            timing.move(to: 15)
            #expect(tick(at: 15) == due(1, 15, isComputed: true))
        }
    }

    @Test func aHoldDoesNotMoveAnInstant() {
        begin(ResolvedSchedule(.at(300), .computed))
        timing.hold(at: 100)
        #expect(!timing.isHeld && timing.remaining(at: 200) == 100)
        begin(every(10, from: 10))
        timing.hold(at: 5)
        begin(ResolvedSchedule(.at(300), .computed))
        #expect(timing.isHeld == false, "such a schedule ends a hold")
    }

    /// If the next deadline had passed by then, its tick is the last one; if not, an extra tick is.
    @Test(arguments: [40, 60] as [UInt64])
    func aFinishWhileADeadlineIsComputedLeavesOneTick(next: UInt64) {
        let last = next == 40 ? due(1, 40, isComputed: true) : due(1, 50, isExtra: true)
        begin(ResolvedSchedule(.at(10), .computed))
        _ = tick(at: 20)
        timing.finish(at: 50)
        timing.advance(to: next, missed: 0)
        #expect(tick(at: 70) == last)
        timing.advance(to: 80, missed: 0)
        #expect(timing.nextDeadline == .max)
    }

    @Test func aCountAlsoEndsComputedDeadlines() {
        begin(ResolvedSchedule(.at(10), .computed, .init(count: 1)))
        _ = tick(at: 10)
        #expect(!timing.awaitsComputation && timing.isCountedOut)
    }

    // MARK: Random lengths

    @Test func aSpreadMovesAllDeadlinesAlike() {
        var firsts: Set<UInt64> = []
        for _ in 0..<200 {
            begin(ResolvedSchedule(.after(100), .every(30), .init(spread: 9)), at: 1_000)
            let all = deadlines(3)
            #expect(all[1] == all[0] + 30 && all[2] == all[0] + 60)
            firsts.insert(all[0])
        }
        #expect(firsts == Set(1_100...1_109))
    }

    @Test func aJitterMovesEachDeadlineByItselfAndNotTheGrid() {
        begin(ResolvedSchedule(.at(0), .every(100), .init(jitter: 9)))
        let delays = deadlines(300).enumerated().map { $1 - UInt64($0) * 100 }
        #expect(Set(delays) == Set(0...9))
    }

    @Test func noDeadlineAfterTheFirstIsBeyondTheEnd() {
        for jitter in [0, 10] as [UInt64] {
            begin(ResolvedSchedule(.after(10), .every(10), .init(jitter: jitter, span: 25)), at: 1_000)
            let all = deadlines(5)
            #expect(all.count == 2 && all.allSatisfy { $0 <= 1_025 })
        }
        begin(ResolvedSchedule(.after(10), .every(10), .init(span: 10)))
        #expect(deadlines(5) == [10])
        begin(ResolvedSchedule(.after(10), .every(10), .init(span: 35)))
        #expect(tick(at: 900) == due(0, 10, missed: 2), "deadlines beyond the end are not missed")
        #expect(timing.nextDeadline == .max)
    }

    // MARK: Helpers

    private func begin(_ schedule: ResolvedSchedule, at now: UInt64 = 0) {
        timing.begin(schedule, at: now, using: &random)
    }

    private func tick(at now: UInt64) -> Expiration? { timing.takeTick(at: now) }

    /// The next deadlines, each of which has its tick at once.
    private func deadlines(_ count: Int) -> [UInt64] {
        (0..<count).compactMap { _ in tick(at: timing.nextDeadline)?.deadline }
    }
}

private func due(
    _ index: UInt64,
    _ deadline: UInt64,
    missed: UInt64 = 0,
    isExtra: Bool = false,
    isComputed: Bool = false
) -> Expiration {
    Expiration(index: index, deadline: deadline, missed: missed, isExtra: isExtra, isComputed: isComputed)
}
