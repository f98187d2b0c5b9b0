import Testing
import TimerCore

/// Ending, pausing, rescheduling and firing, on numbers alone.
struct SchedulerControlTests {
    @Test func anEndedTimerIsNotDueAndTheAlarmIsLeftAlone() {
        var scheduler = Scheduler()
        let timer = scheduler.add(every(10, from: 10)).timer
        #expect(scheduler.end(timer) == true)
        #expect(scheduler.end(timer) == false)
        #expect(scheduler.count == 0)
        #expect(scheduler.nextLook == nil)
        #expect(scheduler.firing(at: 100).ticks == [])
    }

    @Test func anEndedTimerTakesNothingAnyMore() {
        var scheduler = Scheduler()
        let timer = scheduler.add(every(10, from: 10)).timer
        #expect(scheduler.end(timer) == true)
        #expect(scheduler.pause(timer) == false)
        #expect(scheduler.resume(timer) == nil)
        #expect(scheduler.fire(timer, at: instant(3)) == nil)
        #expect(scheduler.reschedule(timer, on: every(1, from: 1)) == nil)
        #expect(scheduler.firing(at: 100).ticks == [])
    }

    @Test func theSlotOfAForgottenTimerIsTakenAgainAndItsIDFindsNothing() {
        var scheduler = Scheduler()
        let stale = scheduler.add(once(at: 10)).timer
        #expect(scheduler.end(stale) == true)
        scheduler.forget(stale)
        let tenant = scheduler.add(once(at: 20)).timer
        #expect(tenant.slot == stale.slot)
        #expect(scheduler.end(stale) == false)
        #expect(scheduler.pause(stale) == false)
        #expect(scheduler.fire(stale, at: instant(1)) == nil)
        #expect(scheduler.firing(at: 20).ticks == [Ticked(tenant, 0, 20)])
    }

    @Test func aClaimOfATimerThatHasEndedIsVoid() {
        var scheduler = Scheduler()
        let timers = [scheduler.add(once(at: 10)).timer, scheduler.add(once(at: 10)).timer]
        let firing = scheduler.firing(at: 10) { scheduler, _ in _ = scheduler.end(timers[1]) }
        #expect(firing.ticks.map(\.timer) == [timers[0]])
        #expect(firing.completed == [timers[0]])
    }

    @Test func aPausedTimerRestsWhileItsGridRunsOn() {
        var scheduler = Scheduler()
        let timer = scheduler.add(every(300, from: 300)).timer
        #expect(scheduler.pause(timer) == true)
        #expect(scheduler.pause(timer) == false)
        #expect(scheduler.nextLook == nil)
        #expect(scheduler.firing(at: 951).ticks == [])
        #expect(scheduler.resume(timer) == .set(instant(300)))
        #expect(scheduler.resume(timer) == nil)
        #expect(scheduler.firing(at: 951).ticks == [Ticked(timer, 0, 300, missed: 2)])
        #expect(scheduler.nextLook == instant(1_200))
    }

    @Test func aTimerCanBePausedFromTheBeginning() {
        var scheduler = Scheduler()
        let (timer, order) = scheduler.add(once(at: 10), isPaused: true)
        #expect(order == .leave)
        #expect(scheduler.firing(at: 20).ticks == [])
        #expect(scheduler.resume(timer) == .set(instant(10)))
        #expect(scheduler.firing(at: 20).completed == [timer])
    }

    @Test func aClaimOfATimerThatWasPausedIsHeldBack() {
        var scheduler = Scheduler()
        let timer = scheduler.add(every(10, from: 10), policy: .catchUp(limit: 3)).timer
        let sibling = scheduler.add(every(100, from: 11)).timer
        // In its own handler, so that the rest of its burst is held back too.
        let firing = scheduler.firing(at: 35) { scheduler, ticked in
            if ticked.timer == timer { _ = scheduler.pause(timer) }
        }
        #expect(firing.ticks == [Ticked(timer, 0, 10), Ticked(sibling, 0, 11)])
        #expect(scheduler.resume(timer) == .set(instant(20)))
        #expect(scheduler.firing(at: 35).ticks == [Ticked(timer, 1, 20), Ticked(timer, 2, 30)])
    }

    @Test func aTimerThatWasPausedAndResumedOnItsWayTicks() {
        var scheduler = Scheduler()
        let timer = scheduler.add(every(10, from: 10)).timer
        var claims: [Claim] = []
        scheduler.expire(at: instant(10), into: &claims)
        #expect(scheduler.pause(timer) == true)
        #expect(scheduler.resume(timer) == .leave)
        #expect(scheduler.begin(claims[0], at: instant(10)) == Due(index: 0, deadline: instant(10), missed: 0))
    }

    @Test func aRescheduledTimerStartsAnew() {
        var scheduler = Scheduler()
        let timer = scheduler.add(every(10, from: 10)).timer
        #expect(scheduler.firing(at: 55).ticks == [Ticked(timer, 0, 10, missed: 4)])
        #expect(scheduler.reschedule(timer, on: every(100, from: 200)) == .leave)
        #expect(scheduler.firing(at: 199).ticks == [])
        #expect(scheduler.reschedule(timer, on: every(100, from: 198)) == .set(instant(198)))
        #expect(scheduler.firing(at: 200).ticks == [Ticked(timer, 0, 198)])
    }

    @Test func aRescheduledTimerIsTheLastAmongEqualDeadlines() {
        var scheduler = Scheduler()
        let timers = (0..<3).map { _ in scheduler.add(every(10, from: 10)).timer }
        #expect(scheduler.reschedule(timers[0], on: every(10, from: 10)) == .leave)
        #expect(scheduler.firing(at: 10).ticks.map(\.timer) == [timers[1], timers[2], timers[0]])
    }

    @Test func aTimerCanBeRescheduledInItsLastHandler() {
        var scheduler = Scheduler()
        let timer = scheduler.add(once(at: 10)).timer
        let firing = scheduler.firing(at: 10) { scheduler, _ in
            _ = scheduler.reschedule(timer, on: once(at: 30))
        }
        #expect(firing.completed == [])
        #expect(firing.alarm == .set(instant(30)))
        #expect(scheduler.firing(at: 30).ticks == [Ticked(timer, 0, 30)])
    }

    @Test func aClaimIsVoidAfterAReschedule() {
        var scheduler = Scheduler()
        let timer = scheduler.add(every(10, from: 10)).timer
        var claims: [Claim] = []
        scheduler.expire(at: instant(10), into: &claims)
        #expect(scheduler.reschedule(timer, on: every(10, from: 12)) == .leave)
        // The new schedule has a deadline by now; it is for the next look, and not for this claim.
        #expect(scheduler.begin(claims[0], at: instant(15)) == nil)
        #expect(scheduler.finish(claims[0], lookedAt: instant(15), now: instant(15)) == .waits(.leave))
        #expect(scheduler.finishFiring() == .set(instant(12)))
        #expect(scheduler.firing(at: 15).ticks == [Ticked(timer, 0, 12)])
    }

    @Test func anExtraTickLeavesTheGridAlone() {
        var scheduler = Scheduler()
        let timer = scheduler.add(every(300, from: 300)).timer
        #expect(scheduler.firing(at: 300).ticks.count == 1)
        #expect(scheduler.fire(timer, at: instant(450)) == .set(instant(450)))
        #expect(scheduler.fire(timer, at: instant(460)) == .leave, "the same one")
        let extra = scheduler.firing(at: 470)
        #expect(extra.ticks == [Ticked(timer, 1, 450)])
        #expect(extra.alarm == .set(instant(600)))
        #expect(scheduler.firing(at: 600).ticks == [Ticked(timer, 1, 600)])
    }

    @Test func anExtraTickComesBesideADeadlineThatHasPassed() {
        var scheduler = Scheduler()
        let timer = scheduler.add(every(300, from: 300)).timer
        #expect(scheduler.fire(timer, at: instant(100)) == .set(instant(100)))
        #expect(scheduler.firing(at: 650).ticks == [Ticked(timer, 0, 100)])
        #expect(scheduler.firing(at: 650).ticks == [Ticked(timer, 0, 300, missed: 1)])
    }

    @Test func anExtraTickOfAPausedTimerIsHeldBack() {
        var scheduler = Scheduler()
        let timer = scheduler.add(every(300, from: 300)).timer
        #expect(scheduler.pause(timer) == true)
        #expect(scheduler.fire(timer, at: instant(100)) == .leave)
        #expect(scheduler.firing(at: 100).ticks == [])
        #expect(scheduler.resume(timer) == .set(instant(100)))
        #expect(scheduler.firing(at: 150).ticks == [Ticked(timer, 0, 100)])
    }

    @Test func anExtraTickInTheLastHandlerComesBeforeTheEnd() {
        var scheduler = Scheduler()
        let timer = scheduler.add(once(at: 10)).timer
        let last = scheduler.firing(at: 10) { scheduler, _ in _ = scheduler.fire(timer, at: instant(10)) }
        #expect(last.completed == [])
        let extra = scheduler.firing(at: 12)
        #expect(extra.ticks == [Ticked(timer, 1, 10)])
        #expect(extra.completed == [timer])
    }
}
