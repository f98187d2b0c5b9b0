import PreciseTimer
import Testing

/// Ending, pausing, rescheduling and firing, on plain numbers.
final class SchedulerControlTests {
    private var scheduler = Scheduler()

    @Test func anEndedTimerIsNeverDueAndDoesNotSetTheAlarm() {
        let timer = scheduler.add(every(10, from: 10)).timer
        #expect(scheduler.end(timer) == true)
        #expect(scheduler.count == 0)
        #expect(scheduler.nextWakeTime == nil)
        #expect(scheduler.firing(at: 100) == Firing())
    }

    @Test func anEndedTimerIgnoresEveryRequest() {
        let timer = scheduler.add(every(10, from: 10)).timer
        #expect(scheduler.end(timer) == true)
        #expect(scheduler.end(timer) == false)
        #expect(scheduler.pause(timer) == false)
        #expect(scheduler.fire(timer, at: 3) == nil)
        #expect(scheduler.reschedule(timer, on: every(1, from: 1)) == nil)
        #expect(scheduler.restart(timer, at: 3) == nil)
        #expect(scheduler.finish(timer, at: 3) == nil)
        #expect(scheduler.resume(timer, at: 3) == nil)
        #expect(scheduler.firing(at: 100).ticks == [])
    }

    @Test func aDueTimerThatEndsBeforeItsTurnDoesNotTick() {
        let timers = [scheduler.add(once(at: 10)).timer, scheduler.add(once(at: 10)).timer]
        let firing = scheduler.firing(at: 10) { scheduler, _ in _ = scheduler.end(timers[1]) }
        #expect(firing == Firing(ticks: [Ticked(timers[0], 0, 10)], completed: [timers[0]]))
    }

    @Test func aPausedTimerDoesNotTickAndItsGridContinues() {
        let timer = scheduler.add(every(300, from: 300)).timer
        #expect(scheduler.pause(timer) == true)
        #expect(scheduler.pause(timer) == false)
        #expect(scheduler.nextWakeTime == nil)
        #expect(scheduler.firing(at: 951).ticks == [])
        #expect(scheduler.resume(timer) == .set(300))
        #expect(scheduler.resume(timer) == nil)
        #expect(scheduler.firing(at: 951).ticks == [Ticked(timer, 0, 300, missed: 2)])
        #expect(scheduler.nextWakeTime == 1_200)
    }

    @Test func aTimerThatIsFinishedHasOneTickForItsLateDeadlines() {
        let timer = scheduler.add(every(300, from: 300)).timer
        #expect(scheduler.finish(timer, at: 951) == .leave)
        let firing = scheduler.firing(at: 2_000)
        #expect(firing == Firing(ticks: [Ticked(timer, 0, 300, missed: 2)], completed: [timer]))
    }

    /// An alarm that repeats by itself would fire between the deadlines.
    @Test func onlyWholePeriodsWithNothingBesidesRepeat() {
        let timer = scheduler.add(every(300, from: 300)).timer
        #expect(scheduler.periodFromNext == 300)
        _ = scheduler.fire(timer, at: 100)
        #expect(scheduler.periodFromNext == nil)
        _ = scheduler.reschedule(timer, on: ResolvedSchedule(.afterOneStep, .rate(3, per: 300)))
        #expect(scheduler.periodFromNext == nil)
        _ = scheduler.reschedule(timer, on: ResolvedSchedule(.at(300), .every(300), .init(jitter: 10)))
        #expect(scheduler.periodFromNext == nil)
        _ = scheduler.reschedule(timer, on: every(300, from: 300))
        #expect(scheduler.periodFromNext == 300)
    }

    @Test func aTimerThatIsFinishedBeforeItsDeadlineHasAnExtraTick() {
        let timer = scheduler.add(every(300, from: 300)).timer
        #expect(scheduler.finish(timer, at: 100) == .set(100))
        let extra = Ticked(timer, 0, 100, isExtra: true)
        #expect(scheduler.firing(at: 100) == Firing(ticks: [extra], completed: [timer]))
    }

    /// What happened since the running handler was called is not in its tick.
    @Test func aTimerThatIsFinishedInItsHandlerTicksOnceMore() {
        let timer = scheduler.add(every(300, from: 300)).timer
        let firing = scheduler.firing(at: 310) { scheduler, ticked in
            if !ticked.due.isExtra { _ = scheduler.finish(timer, at: 320) }
        }
        #expect(firing.ticks == [Ticked(timer, 0, 300)])
        let extra = Ticked(timer, 1, 320, isExtra: true)
        #expect(scheduler.firing(at: 320) == Firing(ticks: [extra], completed: [timer]))
    }

    @Test func aHeldTimerMovesItsWholeGrid() {
        let timer = scheduler.add(every(300, from: 300)).timer
        #expect(scheduler.pause(timer) == true)
        timer.timing.hold(at: 400)
        #expect(timer.timing.remaining(at: 2_000) == 0, "the tick of 300 was late when the hold began")
        #expect(scheduler.resume(timer, at: 1_400) == .leave)
        #expect(scheduler.firing(at: 1_400).ticks == [Ticked(timer, 0, 1_300)])
        #expect(scheduler.nextWakeTime == 1_600)
    }

    @Test func aTimerCanBeAddedPaused() {
        let (timer, order) = scheduler.add(once(at: 10), isPaused: true)
        #expect(order == .leave)
        #expect(scheduler.firing(at: 20).ticks == [])
        #expect(scheduler.resume(timer) == .set(10))
        #expect(scheduler.firing(at: 20).completed == [timer])
    }

    @Test func aTimerThatIsPausedInItsHandlerKeepsItsLateTicks() {
        let timer = scheduler.add(every(10, from: 10), policy: .catchUp(limit: 3)).timer
        let sibling = scheduler.add(every(100, from: 11)).timer
        let firing = scheduler.firing(at: 35) { scheduler, ticked in
            if ticked.timer == timer { _ = scheduler.pause(timer) }
        }
        #expect(firing.ticks == [Ticked(timer, 0, 10), Ticked(sibling, 0, 11)])
        #expect(scheduler.resume(timer) == .set(20))
        #expect(scheduler.firing(at: 35).ticks == [Ticked(timer, 1, 20), Ticked(timer, 2, 30)])
    }

    /// The handler changes its mind. The remaining late ticks belong to the same round and to its limit.
    @Test func aTimerThatIsPausedAndResumedInItsHandlerCatchesUpInTheSameRound() {
        let timer = scheduler.add(every(10, from: 10), policy: .catchUp(limit: 3)).timer
        let firing = scheduler.firing(at: 55) { scheduler, ticked in
            if ticked.due.index == 0 { _ = (scheduler.pause(timer), scheduler.resume(timer)) }
        }
        #expect(firing.ticks == [Ticked(timer, 0, 10), Ticked(timer, 1, 20), Ticked(timer, 2, 30, missed: 2)])
        #expect(firing.alarm == .set(60))
    }

    @Test func aTimerThatWasPausedAndResumedOnItsWayTicks() {
        let timer = scheduler.add(every(10, from: 10)).timer
        #expect(scheduler.take(at: 10) == timer)
        #expect(scheduler.pause(timer) == true)
        #expect(scheduler.resume(timer) == .leave)
        #expect(scheduler.begin(timer, at: 10) == Expiration(index: 0, deadline: 10, missed: 0))
    }

    @Test func timersThatComeDueDuringARoundWaitForTheNext() {
        let (added, first) = (TimerRecord(), scheduler.add(once(at: 10)).timer)
        let (paused, rescheduled) = (scheduler.add(once(at: 11)).timer, scheduler.add(once(at: 30)).timer)
        let firing = scheduler.firing(at: 20) { scheduler, ticked in
            #expect(ticked.timer == first)
            _ = scheduler.add(added, on: once(at: 12))
            #expect(scheduler.pause(paused) && scheduler.resume(paused) == .leave)
            _ = scheduler.reschedule(rescheduled, on: once(at: 13))
        }
        #expect(firing == Firing(ticks: [Ticked(first, 0, 10)], completed: [first], alarm: .set(11)))
        #expect(scheduler.firing(at: 20).ticks.map(\.timer) == [paused, added, rescheduled])
    }

    @Test func aTimerThatItsHandlerMakesDueWaitsForTheNextRound() {
        let timer = scheduler.add(every(10, from: 10)).timer
        let firing = scheduler.firing(at: 20) { scheduler, ticked in
            if ticked.due.deadline == 10 { _ = scheduler.reschedule(timer, on: once(at: 15)) }
        }
        #expect(firing == Firing(ticks: [Ticked(timer, 0, 10, missed: 1)], alarm: .set(15)))
    }

    @Test func aRescheduledTimerStartsAnew() {
        let timer = scheduler.add(every(10, from: 10)).timer
        #expect(scheduler.firing(at: 55).ticks == [Ticked(timer, 0, 10, missed: 4)])
        #expect(scheduler.reschedule(timer, on: every(100, from: 200)) == .leave)
        #expect(scheduler.firing(at: 199).ticks == [])
        #expect(scheduler.reschedule(timer, on: every(100, from: 198)) == .set(198))
        #expect(scheduler.firing(at: 200).ticks == [Ticked(timer, 0, 198)])
    }

    @Test func aRescheduledTimerIsTheLastAmongEqualDeadlines() {
        let timers = (0..<3).map { _ in scheduler.add(every(10, from: 10)).timer }
        #expect(scheduler.reschedule(timers[0], on: every(10, from: 10)) == .leave)
        #expect(scheduler.firing(at: 10).ticks.map(\.timer) == [timers[1], timers[2], timers[0]])
    }

    @Test func aTimerCanBeRescheduledInItsLastHandler() {
        let timer = scheduler.add(once(at: 10)).timer
        let firing = scheduler.firing(at: 10) { scheduler, _ in _ = scheduler.reschedule(timer, on: once(at: 30)) }
        #expect(firing == Firing(ticks: [Ticked(timer, 0, 10)], alarm: .set(30)))
        #expect(scheduler.firing(at: 30).ticks == [Ticked(timer, 0, 30)])
    }

    @Test func aRescheduleDropsATickThatIsOnItsWay() {
        let timer = scheduler.add(every(10, from: 10)).timer
        #expect(scheduler.take(at: 10) == timer)
        #expect(scheduler.reschedule(timer, on: every(10, from: 17)) == .leave)
        #expect(scheduler.begin(timer, at: 15) == nil)
        #expect(scheduler.finish(timer, decidedAt: 15, now: 15) == .waits(.leave))
        #expect(scheduler.endRound() == .set(17))
        #expect(scheduler.firing(at: 18).ticks == [Ticked(timer, 0, 17)])
    }

    @Test func postponingATimerDoesNotSetTheAlarm() {
        let timer = scheduler.add(once(at: 10)).timer
        #expect(scheduler.reschedule(timer, on: once(at: 40)) == .leave)
        #expect(scheduler.nextWakeTime == 10)
        #expect(scheduler.reschedule(timer, on: once(at: 30)) == .leave)
        #expect(scheduler.firing(at: 10) == Firing(alarm: .set(30)))
        #expect(scheduler.firing(at: 30).ticks == [Ticked(timer, 0, 30)])
    }

    @Test func anExtraTickDoesNotChangeTheGrid() {
        let timer = scheduler.add(every(300, from: 300)).timer
        #expect(scheduler.firing(at: 300).ticks.count == 1)
        #expect(scheduler.fire(timer, at: 450) == .set(450))
        #expect(scheduler.fire(timer, at: 460) == .leave, "the two requests share one tick")
        #expect(scheduler.firing(at: 470) == Firing(ticks: [Ticked(timer, 1, 450, isExtra: true)], alarm: .set(600)))
        #expect(scheduler.firing(at: 600).ticks == [Ticked(timer, 1, 600)])
    }

    @Test func anExtraTickOfAPausedTimerIsHeldBack() {
        let timer = scheduler.add(every(300, from: 300)).timer
        #expect(scheduler.pause(timer) == true)
        #expect(scheduler.fire(timer, at: 100) == .leave)
        #expect(scheduler.firing(at: 100).ticks == [])
        #expect(scheduler.resume(timer) == .set(100))
        #expect(scheduler.firing(at: 150).ticks == [Ticked(timer, 0, 100, isExtra: true)])
    }

    @Test func anExtraTickDoesNotDelayCatchingUp() {
        let late = scheduler.add(every(76, from: 76), policy: .catchUp(limit: 2), tolerance: 39).timer
        let other = scheduler.add(once(at: 100)).timer
        let firing = scheduler.firing(at: 158) { scheduler, tick in
            if tick.timer == other { _ = scheduler.fire(late, at: 158) }
        }
        #expect(firing.ticks == [Ticked(late, 0, 76), Ticked(other, 0, 100), Ticked(late, 1, 152)])
    }

    /// It is still where it was before it was postponed, and comes out there.
    @Test func anExtraTickOfAPostponedTimerWaitsForTheNextRound() {
        let other = scheduler.add(once(at: 50)).timer
        let timer = scheduler.add(once(at: 100), tolerance: 16).timer
        let firing = scheduler.firing(at: 125) { scheduler, _ in
            #expect(scheduler.reschedule(timer, on: once(at: 124)) == .leave, "which wakes at 128")
            #expect(scheduler.fire(timer, at: 125) == .leave)
        }
        #expect(firing.ticks == [Ticked(other, 0, 50)])
        #expect(firing.alarm == .set(125))
        #expect(scheduler.firing(at: 125).ticks.map(\.due.deadline) == [124])
    }

    @Test func aTimerResumedAtTheEndOfItsHopSetsTheAlarm() {
        let timer = scheduler.add(every(10, from: 10), policy: .catchUp(limit: 3)).timer
        #expect(scheduler.take(at: 35) == timer)
        _ = scheduler.endRound()
        #expect(scheduler.begin(timer, at: 35)?.index == 0)
        #expect(scheduler.finish(timer, decidedAt: 35, byHop: true, now: 35) == .again)
        _ = scheduler.pause(timer)
        #expect(scheduler.begin(timer, at: 35) == nil)
        _ = scheduler.resume(timer)
        #expect(scheduler.finish(timer, decidedAt: 35, now: 35) == .waits(.set(20)))
    }

    @Test func anExtraTickInTheLastHandlerComesBeforeTheEnd() {
        let timer = scheduler.add(once(at: 10)).timer
        let last = scheduler.firing(at: 10) { scheduler, _ in _ = scheduler.fire(timer, at: 10) }
        #expect(last.completed == [])
        #expect(scheduler.firing(at: 12) == Firing(ticks: [Ticked(timer, 1, 10, isExtra: true)], completed: [timer]))
    }
}
