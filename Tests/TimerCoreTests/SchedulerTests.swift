import PreciseTimer
import Testing

/// The scheduler's decisions about deadlines and the alarm, on plain numbers.
final class SchedulerTests {
    private var scheduler = Scheduler()

    @Test func onlyATimerThatIsEarlierThanAllOthersSetsTheAlarm() {
        #expect(scheduler.add(every(1_000, from: 500)).alarm == .set(500))
        #expect(scheduler.add(every(1_000, from: 500)).alarm == .leave)
        #expect(scheduler.add(every(1_000, from: 700)).alarm == .leave)
        #expect(scheduler.add(every(1_000, from: 499)).alarm == .set(499))
    }

    @Test func aLateRoundGivesOneTickWithTheOldestDeadline() {
        let timer = scheduler.add(every(300, from: 300)).timer
        #expect(scheduler.firing(at: 300).ticks == [Ticked(timer, 0, 300)])
        #expect(scheduler.firing(at: 951) == Firing(ticks: [Ticked(timer, 1, 600, missed: 1)], alarm: .set(1_200)))
        #expect(scheduler.firing(at: 1_200).ticks == [Ticked(timer, 3, 1_200)])
    }

    @Test func anEarlyFiringFindsNothingAndSetsTheAlarmAgain() {
        _ = scheduler.add(every(300, from: 300))
        #expect(scheduler.firing(at: 299) == Firing(alarm: .set(300)))
    }

    @Test func anEarlyFiringOfARepeatingAlarmSetsItAgain() {
        _ = scheduler.add(every(300, from: 300))
        scheduler.alarmGoesOn(every: 300)
        #expect(scheduler.firing(at: 299) == Firing(alarm: .set(300)))
    }

    /// A round may take longer than the period of the alarm, which does not make the alarm silent.
    @Test func anAlarmIsOverdueOnlyBetweenRounds() {
        #expect(scheduler.add(every(10, from: 10)).alarm == .set(10))
        scheduler.alarmGoesOn(every: 10)
        #expect(scheduler.overdue(at: 9) == nil)
        #expect(scheduler.overdue(at: 10) == 10)
        scheduler.beginRound(at: 12)
        #expect(scheduler.overdue(at: 25) == nil, "the alarm's next firing is at 20, and the round is not over")
        while let timer = scheduler.takeNext() {
            #expect(scheduler.begin(timer, at: 12) != nil)
            #expect(scheduler.finish(timer, decidedAt: 12, now: 12) == .waits(.leave))
        }
        #expect(scheduler.endRound() == .leave)
        #expect(scheduler.overdue(at: 25) == 20)
    }

    @Test func anEarlyFiringWithoutATimerDisarmsARepeatingAlarm() {
        let timer = scheduler.add(every(300, from: 300)).timer
        scheduler.alarmGoesOn(every: 300)
        _ = scheduler.pause(timer)
        #expect(scheduler.firing(at: 299) == Firing(alarm: .disarm))
    }

    @Test func dueTimersTickInOrderOfDeadlineAndThenOfScheduling() {
        let third = scheduler.add(once(at: 20)).timer
        let first = scheduler.add(once(at: 10)).timer
        let fourth = scheduler.add(once(at: 20)).timer
        let second = scheduler.add(once(at: 10)).timer
        #expect(scheduler.firing(at: 25).ticks.map(\.timer) == [first, second, third, fourth])
    }

    @Test func repeatingTimersAlwaysTickInOrderOfScheduling() {
        let timers = (0..<50).map { _ in scheduler.add(every(10, from: 10)).timer }
        for round in 1...20 {
            #expect(scheduler.firing(at: UInt64(round) * 10).ticks.map(\.timer) == timers)
        }
    }

    @Test func aTimerCompletesAfterItsOnlyDeadline() {
        let timer = scheduler.add(once(at: 10)).timer
        #expect(scheduler.firing(at: 10) == Firing(ticks: [Ticked(timer, 0, 10)], completed: [timer]))
        #expect(scheduler.count == 0)
        #expect(timer.ending == .completed)
    }

    @Test func theAlarmIsSetAtTheEndOfAFiringForAllTimersAddedInIt() {
        _ = scheduler.add(every(100, from: 10))
        let firing = scheduler.firing(at: 10) { scheduler, _ in
            let orders = [scheduler.add(once(at: 50)).alarm, scheduler.add(once(at: 30)).alarm]
            #expect(orders == [.leave, .leave])
        }
        #expect(firing.alarm == .set(30))
        #expect(scheduler.add(once(at: 40)).alarm == .leave)
        #expect(scheduler.add(once(at: 20)).alarm == .set(20))
    }

    @Test func aDeliveryThatEndsAfterTheRoundSetsTheAlarm() {
        let timer = scheduler.add(every(100, from: 10)).timer
        #expect(scheduler.take(at: 10) == timer)
        #expect(scheduler.endRound() == .leave, "the only timer is still on its way")
        #expect(scheduler.begin(timer, at: 15) != nil)
        let after = scheduler.finish(timer, decidedAt: 15, now: 20)
        #expect(after == .waits(.set(110)))
    }

    @Test func aClockSetBackBeforeTheHandlerIsCalledMakesNoTickEarly() {
        let timer = scheduler.add(every(100, from: 100)).timer
        #expect(scheduler.take(at: 100) == timer)
        #expect(scheduler.begin(timer, at: 40) == nil)
        #expect(scheduler.finish(timer, decidedAt: 40, now: 40) == .waits(.leave))
        #expect(scheduler.endRound() == .set(100))
        #expect(scheduler.firing(at: 100).ticks == [Ticked(timer, 0, 100)])
    }

    @Test func afterACloseNewTimersSetTheAlarm() {
        let timer = scheduler.add(every(100, from: 10)).timer
        #expect(scheduler.take(at: 10) == timer)
        #expect(scheduler.end(timer) == true)
        scheduler.close()
        #expect(scheduler.add(once(at: 50)).alarm == .set(50))
        #expect(scheduler.begin(timer, at: 10) == nil)
        #expect(scheduler.finish(timer, decidedAt: 10, now: 10) == .hasEnded)
    }

    @Test func aDeadlineOfNeverDoesNotSetTheAlarm() {
        #expect(scheduler.add(once(at: .max)).alarm == .leave)
        #expect(scheduler.nextWakeTime == nil)
        #expect(scheduler.firing(at: .max) == Firing())
    }

    /// No alarm may fire twice at once. If one does, or if a service was started again meanwhile, both handlers run.
    @Test func twoRoundsThatOverlapCallATimerEach() {
        let timers = [10, 11, 12].map { scheduler.add(every(100, from: $0)).timer }
        for _ in 0..<2 {
            scheduler.beginRound(at: 12)
            let due = scheduler.firstDue()
            #expect(due.flatMap { scheduler.begin($0, at: 12) } != nil)
        }
        #expect(scheduler.runningCount == 2)
        #expect((0..<2).allSatisfy { timers[..<2].contains(scheduler.running(at: $0)) })
        for timer in timers[..<2] { #expect(scheduler.finish(timer, decidedAt: 12, now: 12) == .waits(.leave)) }
        #expect(scheduler.runningCount == 0)
        #expect(scheduler.takeNext() == timers[2])
        #expect(scheduler.brokenInvariant == nil)
    }

    /// It came due by then, but another timer is called first.
    @Test func aTimerThatReturnsDuringALaterRoundWaitsForTheNext() {
        let timer = scheduler.add(every(5, from: 10)).timer
        scheduler.beginRound(at: 12)
        #expect(scheduler.firstDue() == timer)
        #expect(scheduler.begin(timer, at: 12) != nil)
        let other = scheduler.add(once(at: 8)).timer
        #expect(scheduler.take(at: 20) == other)
        #expect(scheduler.finish(timer, decidedAt: 12, now: 20) == .waits(.leave))
        #expect(scheduler.nextDue() == nil)
        #expect(scheduler.endRound() == .set(15))
    }

    @Test func onlyTimersThatHaveNotEndedAreListed() {
        let timers = (0..<3).map { scheduler.add(once(at: 10 + UInt64($0))).timer }
        #expect(scheduler.end(timers[1]) == true)
        #expect(scheduler.count == 2)
        let listed = (0..<2).map { scheduler[$0] }
        #expect(listed.contains(timers[0]) && listed.contains(timers[2]))
    }
}

/// A timer on demand has no deadline until it is rescheduled, and is idle when its last deadline has had its tick.
final class OnDemandTests {
    private var scheduler = Scheduler()

    @Test func aTimerOnDemandIsIdleAfterEachDeadlineUntilItIsRescheduled() {
        let (timer, order) = scheduler.add(onDemand)
        #expect(order == .leave)
        #expect(scheduler.nextWakeTime == nil)
        #expect(scheduler.firing(at: .max).ticks == [])
        for deadline in [10, 20, 30] as [UInt64] {
            #expect(scheduler.reschedule(timer, on: once(at: deadline)) == .set(deadline))
            #expect(scheduler.firing(at: deadline + 2) == Firing(ticks: [Ticked(timer, 0, deadline)]))
            #expect(scheduler.nextWakeTime == nil)
        }
        #expect(scheduler.end(timer) == true)
        #expect(scheduler.reschedule(timer, on: once(at: 40)) == nil)
    }

    @Test func aRepeatingTimerRescheduledOnDemandIsIdle() {
        let timer = scheduler.add(every(10, from: 10)).timer
        #expect(scheduler.reschedule(timer, on: onDemand) == .leave)
        #expect(scheduler.firing(at: 100).ticks == [])
        #expect(scheduler.reschedule(timer, on: every(10, from: 110)) == .set(110))
        #expect(scheduler.firing(at: 125).ticks == [Ticked(timer, 0, 110, missed: 1)])
        #expect(scheduler.nextWakeTime == 130)
    }

    @Test func anExtraTickDoesNotEndATimerOnDemand() {
        let timer = scheduler.add(onDemand, tolerance: 50).timer
        #expect(scheduler.fire(timer, at: 7) == .set(7))
        #expect(scheduler.firing(at: 8) == Firing(ticks: [Ticked(timer, 0, 7, isExtra: true)]))
    }
}
