import Testing
import TimerCore

/// What the scheduler decides of deadlines and of the alarm, on numbers alone.
struct SchedulerTests {
    @Test func theAlarmIsSetForTheFirstTimerAndForEarlierOnesOnly() {
        var scheduler = Scheduler()
        #expect(scheduler.add(every(1_000, from: 500)).alarm == .set(instant(500)))
        #expect(scheduler.add(every(1_000, from: 500)).alarm == .leave)
        #expect(scheduler.add(every(1_000, from: 700)).alarm == .leave)
        #expect(scheduler.add(every(1_000, from: 499)).alarm == .set(instant(499)))
    }

    @Test func aLateLookGivesOneTickWithTheOldestDeadline() {
        var scheduler = Scheduler()
        let timer = scheduler.add(every(300, from: 300)).timer
        #expect(scheduler.firing(at: 300).ticks == [Ticked(timer, 0, 300)])
        let late = scheduler.firing(at: 951)
        #expect(late.ticks == [Ticked(timer, 1, 600, missed: 1)])
        #expect(late.alarm == .set(instant(1_200)))
        #expect(scheduler.firing(at: 1_200).ticks == [Ticked(timer, 3, 1_200)])
    }

    @Test(arguments: [(599, 0), (600, 1), (601, 1), (899, 1), (900, 2), (3_600_000_000_300, 12_000_000_000)])
    func missedCountsTheLaterDeadlinesThatHavePassed(now: UInt64, missed: UInt64) {
        var scheduler = Scheduler()
        let timer = scheduler.add(every(300, from: 300)).timer
        #expect(scheduler.firing(at: now).ticks == [Ticked(timer, 0, 300, missed: missed)])
        #expect(scheduler.nextLook == instant(300 * (missed + 2)))
    }

    @Test func anEarlyFiringFindsNothingAndSetsTheAlarmAgain() {
        var scheduler = Scheduler()
        _ = scheduler.add(every(300, from: 300))
        let early = scheduler.firing(at: 299)
        #expect(early.ticks == [])
        #expect(early.alarm == .set(instant(300)))
    }

    @Test func whatIsDueComesInOrderOfDeadlineAndThenOfScheduling() {
        var scheduler = Scheduler()
        let third = scheduler.add(once(at: 20)).timer
        let first = scheduler.add(once(at: 10)).timer
        let fourth = scheduler.add(once(at: 20)).timer
        let second = scheduler.add(once(at: 10)).timer
        #expect(scheduler.firing(at: 25).ticks.map(\.timer) == [first, second, third, fourth])
    }

    @Test func repeatingTimersKeepTheirOrderOfSchedulingForEver() {
        var scheduler = Scheduler()
        let timers = (0..<50).map { _ in scheduler.add(every(10, from: 10)).timer }
        for round in 1...20 {
            #expect(scheduler.firing(at: UInt64(round) * 10).ticks.map(\.timer) == timers)
        }
    }

    @Test func aSingleDeadlineIsTheLast() {
        var scheduler = Scheduler()
        let timer = scheduler.add(once(at: 10)).timer
        let firing = scheduler.firing(at: 10)
        #expect(firing.ticks == [Ticked(timer, 0, 10)])
        #expect(firing.completed == [timer])
        #expect(firing.alarm == .leave)
        #expect(scheduler.count == 0)
        #expect(scheduler[timer]?.hasEnded == true, "known until it is forgotten")
        scheduler.forget(timer)
        #expect(scheduler[timer] == nil)
    }

    @Test func duringAFiringTheAlarmIsLeftAloneAndAtItsEndSetForAllThatCame() {
        var scheduler = Scheduler()
        _ = scheduler.add(every(100, from: 10))
        let firing = scheduler.firing(at: 10) { scheduler, _ in
            let orders = [scheduler.add(once(at: 50)).alarm, scheduler.add(once(at: 30)).alarm]
            #expect(orders == [.leave, .leave])
        }
        #expect(firing.alarm == .set(instant(30)))
        #expect(scheduler.add(once(at: 40)).alarm == .leave)
        #expect(scheduler.add(once(at: 20)).alarm == .set(instant(20)))
    }

    @Test func aDeliveryThatEndsAfterTheFiringSetsTheAlarmItself() {
        var scheduler = Scheduler()
        _ = scheduler.add(every(100, from: 10))
        var claims: [Claim] = []
        scheduler.expire(at: instant(10), into: &claims)
        #expect(scheduler.finishFiring() == .leave, "its only timer is still on its way")
        #expect(scheduler.begin(claims[0], at: instant(15)) != nil)
        let sequel = scheduler.finish(claims[0], lookedAt: instant(15), now: instant(20))
        #expect(sequel == .waits(.set(instant(110))))
    }

    @Test func aClockSetBackBeforeTheHandlerIsCalledMakesNoTickEarly() {
        var scheduler = Scheduler()
        let timer = scheduler.add(every(100, from: 100)).timer
        var claims: [Claim] = []
        scheduler.expire(at: instant(100), into: &claims)
        #expect(scheduler.begin(claims[0], at: instant(40)) == nil)
        #expect(scheduler.finish(claims[0], lookedAt: instant(40), now: instant(40)) == .waits(.leave))
        #expect(scheduler.finishFiring() == .set(instant(100)))
        #expect(scheduler.firing(at: 100).ticks == [Ticked(timer, 0, 100)])
    }

    @Test func aStoppedAlarmHoldsNoOrderBack() {
        var scheduler = Scheduler()
        let timer = scheduler.add(every(100, from: 10)).timer
        var claims: [Claim] = []
        scheduler.expire(at: instant(10), into: &claims)
        #expect(scheduler.end(timer) == true)
        scheduler.alarmStopped()
        #expect(scheduler.add(once(at: 50)).alarm == .set(instant(50)))
        #expect(scheduler.begin(claims[0], at: instant(10)) == nil)
        #expect(scheduler.finish(claims[0], lookedAt: instant(10), now: instant(10)) == .hasEnded)
    }

    @Test func neverIsNotADeadlineToSetAnAlarmFor() {
        var scheduler = Scheduler()
        #expect(scheduler.add(Grid(origin: .never(on: .suspending))).alarm == .leave)
        #expect(scheduler.nextLook == nil)
        let firing = scheduler.firing(at: .max)
        #expect(firing.ticks == [])
        #expect(firing.alarm == .leave)
    }

    @Test func aPeriodOfOneNanosecondIsTakenByDivision() {
        var scheduler = Scheduler()
        let timer = scheduler.add(every(1, from: 0)).timer
        let hour: UInt64 = 3_600_000_000_000
        #expect(scheduler.firing(at: hour).ticks == [Ticked(timer, 0, 0, missed: hour)])
    }

    @Test func whatIsPendingAreTheTimersThatHaveNotEnded() {
        var scheduler = Scheduler()
        let timers = (0..<3).map { scheduler.add(once(at: 10 + UInt64($0))).timer }
        #expect(scheduler.end(timers[1]) == true)
        #expect(scheduler.pending.map(\.id) == [timers[0], timers[2]])
        #expect(scheduler.count == 2)
        #expect(scheduler.slotCapacity == 3)
    }
}
