import PreciseTimer
import Testing

/// Ending, pausing, rescheduling and firing, on plain numbers.
final class SchedulerControlTests {
    private var scheduler = Scheduler()

    // MARK: The end

    @Test func anEndedTimerIsNeverDueAndIgnoresEveryRequest() {
        let timer = scheduler.add(every(10, from: 10)).timer
        let ended = [scheduler.end(timer), scheduler.end(timer), scheduler.pause(timer)]
        let orders = [
            scheduler.fire(timer, at: 3), scheduler.reschedule(timer, on: every(1, from: 1)),
            scheduler.restart(timer, at: 3), scheduler.finish(timer, at: 3), scheduler.resume(timer),
        ]
        #expect(ended == [true, false, false] && orders == [nil, nil, nil, nil, nil])
        #expect(scheduler.count == 0 && scheduler.nextWakeTime == nil && scheduler.firing(at: 100) == Firing())
    }

    /// The last tick is that of the late deadlines, or else an extra one; what happened since the running handler was
    /// called is not in its tick.
    @Test func aTimerThatIsFinishedHasOneMoreTick() {
        let (late, early) = (scheduler.add(every(300, from: 300)).timer, scheduler.add(every(300, from: 3_000)).timer)
        #expect([scheduler.finish(late, at: 951), scheduler.finish(early, at: 951)] == [.leave, .leave])
        let last = [Ticked(late, 0, 300, latest: 900, missed: 2), Ticked(early, 0, 951, isExtra: true)]
        #expect(scheduler.firing(at: 2_000) == Firing(ticks: last, completed: [late, early]))
        let timer = scheduler.add(every(300, from: 2_300)).timer
        let firing = scheduler.firing(at: 2_310) { scheduler, _ in _ = scheduler.finish(timer, at: 2_320) }
        #expect(firing == Firing(ticks: [Ticked(timer, 0, 2_300)], alarm: .set(2_310)))
        let extra = Ticked(timer, 1, 2_320, isExtra: true)
        #expect(scheduler.firing(at: 2_320) == Firing(ticks: [extra], completed: [timer]))
        let paused = scheduler.add(once(at: 9), isPaused: true).timer
        #expect(scheduler.finish(paused, at: 9) == nil, "not while it is paused")
    }

    /// It was asked for an extra tick before its deadline, and finished afterwards. A timer before it must wait.
    @Test func theLastTickIsOneAndComesAtOnceAlsoAfterAnExtraOneWasAskedFor() {
        _ = scheduler.add(every(1_000, from: 1_000))
        let timer = scheduler.add(once(at: 300), tolerance: 5_000).timer
        #expect(scheduler.pause(timer) && scheduler.fire(timer, at: 100) == .leave)
        #expect(scheduler.resume(timer, at: 400) == .set(100) && scheduler.finish(timer, at: 400) == .leave)
        let last = Firing(ticks: [Ticked(timer, 0, 300)], completed: [timer], alarm: .set(1_000))
        #expect(scheduler.firing(at: 400) == last)
    }

    @Test func aTimerThatCatchesUpAndFiresItselfTicksInTheNextRound() {
        let timer = scheduler.add(every(10, from: 10), policy: .catchUp(limit: 9)).timer
        let other = scheduler.add(every(10, from: 10)).timer
        let firing = scheduler.firing(at: 20) { scheduler, ticked in
            if ticked.timer == timer { _ = scheduler.fire(timer, at: 20) }
        }
        let ticks = [Ticked(timer, 0, 10), Ticked(other, 0, 10, latest: 20, missed: 1), Ticked(timer, 1, 20)]
        #expect(firing.ticks == ticks && scheduler.firing(at: 20).ticks == [Ticked(timer, 2, 20, isExtra: true)])
    }

    /// Whatever the clock shows by then.
    @Test(arguments: [(40, 40), (150, 100)] as [(now: UInt64, alarm: UInt64)])
    func theAlarmFiresAtOnceForADeferredTimer(clock: (now: UInt64, alarm: UInt64)) {
        let timer = scheduler.add(onDemand).timer
        scheduler.beginRound(at: 100)
        _ = scheduler.reschedule(timer, on: once(at: 100))
        #expect(scheduler.firstDue() == nil && scheduler.endRound(at: clock.now) == .set(clock.alarm))
    }

    @Test func aRoundAtTheEndOfTimeEnds() {
        scheduler.beginRound(at: .max)
        #expect(scheduler.firstDue() == nil && !scheduler.hasDue)
    }

    @Test func requestsForAnExtraTickCollapseIntoTheFirstAndKeepItsPlace() {
        let (second, first) = (scheduler.add(onDemand).timer, scheduler.add(onDemand).timer)
        for (timer, instant) in [(first, 10), (second, 11), (first, 12)] as [(TimerRecord, UInt64)] {
            _ = scheduler.fire(timer, at: instant)
        }
        let ticks = [Ticked(first, 0, 10, isExtra: true), Ticked(second, 0, 11, isExtra: true)]
        #expect(scheduler.firing(at: 20).ticks == ticks)
    }

    /// Both came due during a round. The first one in the order of scheduling has the later last instant.
    @Test(arguments: [true, false]) func ofTwoDeferredTimersEitherMayEndBeforeTheAlarmFires(endsFirst: Bool) {
        let (first, second) = (scheduler.add(onDemand).timer, scheduler.add(onDemand).timer)
        _ = scheduler.add(once(at: 1_000))
        let firing = scheduler.firing(at: 1_000) { scheduler, _ in
            _ = scheduler.reschedule(first, on: once(at: 950))
            _ = scheduler.reschedule(second, on: once(at: 900))
        }
        #expect(firing.alarm == .set(1_000))
        #expect(scheduler.end(endsFirst ? first : second) && scheduler.brokenInvariant == nil)
        #expect(scheduler.firing(at: 1_000).ticks == [endsFirst ? Ticked(second, 0, 900) : Ticked(first, 0, 950)])
    }

    // MARK: Pausing

    @Test func aPausedTimerDoesNotTickAndItsGridContinues() {
        let (timer, order) = scheduler.add(every(300, from: 300), isPaused: true)
        #expect(order == .leave && scheduler.pause(timer) == false)
        #expect(scheduler.nextWakeTime == nil && scheduler.firing(at: 951) == Firing())
        #expect([scheduler.resume(timer), scheduler.resume(timer)] == [.set(300), nil])
        let late = Firing(ticks: [Ticked(timer, 0, 300, latest: 900, missed: 2)], alarm: .set(1_200))
        #expect(scheduler.firing(at: 951) == late && scheduler.pause(timer))
        #expect(scheduler.fire(timer, at: 1_000) == .leave && scheduler.firing(at: 1_000) == Firing())
        #expect(scheduler.resume(timer, at: 1_050) == .set(1_000), "an extra tick is held back")
        #expect(scheduler.firing(at: 1_100).ticks == [Ticked(timer, 3, 1_000, isExtra: true)])
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
        let ticks = [Ticked(timer, 0, 10), Ticked(timer, 1, 20), Ticked(timer, 2, 30, latest: 50, missed: 2)]
        #expect(firing == Firing(ticks: ticks, alarm: .set(60)))
    }

    @Test func aTimerThatWasPausedAndResumedOnItsWayTicks() {
        let timer = scheduler.add(every(10, from: 10)).timer
        #expect(scheduler.take(at: 10) == timer && scheduler.pause(timer) && scheduler.resume(timer) == .leave)
        #expect(scheduler.begin(timer, at: 10) == Expiration(index: 0, deadline: 10))
    }

    @Test func aTimerResumedAtTheEndOfItsHopSetsTheAlarm() {
        let timer = scheduler.add(every(10, from: 10), policy: .catchUp(limit: 3)).timer
        #expect(scheduler.take(at: 35) == timer && scheduler.endRound(at: 35) == .leave)
        #expect(scheduler.begin(timer, at: 35)?.index == 0)
        #expect(scheduler.putBack(timer, decidedAt: 35, byHop: true, now: 35) == .leave && timer.isInDelivery)
        #expect(scheduler.pause(timer) && scheduler.begin(timer, at: 35) == nil && scheduler.resume(timer) == .leave)
        #expect(scheduler.putBack(timer, decidedAt: 35, now: 35) == .set(20))
    }

    // MARK: Rescheduling

    @Test func timersThatComeDueDuringARoundWaitForTheNext() {
        let (added, first) = (TimerRecord(), scheduler.add(once(at: 10)).timer)
        let tolerant = scheduler.add(once(at: 30), tolerance: 64).timer
        let (paused, rescheduled) = (scheduler.add(once(at: 11)).timer, scheduler.add(once(at: 30)).timer)
        let firing = scheduler.firing(at: 20) { scheduler, ticked in
            #expect(ticked.timer == first)
            _ = scheduler.reschedule(tolerant, on: once(at: 5))
            _ = scheduler.add(added, on: once(at: 12))
            #expect(scheduler.pause(paused) && scheduler.resume(paused) == .leave)
            _ = scheduler.reschedule(rescheduled, on: once(at: 13))
        }
        #expect(firing == Firing(ticks: [Ticked(first, 0, 10)], completed: [first], alarm: .set(20)))
        #expect(
            scheduler.firing(at: 20).ticks.map(\.timer) == [paused, added, rescheduled, tolerant],
            "by last instants"
        )
    }

    @Test func aTimerThatIsRescheduledInItsHandlerWaitsForTheNextRound() {
        let all: [(ResolvedSchedule, latest: UInt64, next: UInt64)] = [
            (every(10, from: 10), 20, 15), (once(at: 10), 10, 30),
        ]
        for (schedule, latest, next) in all {
            let timer = scheduler.add(schedule).timer
            let firing = scheduler.firing(at: 20) { scheduler, _ in
                _ = scheduler.reschedule(timer, on: once(at: next))
            }
            let tick = Ticked(timer, 0, 10, latest: latest, missed: latest / 20)
            #expect(firing == Firing(ticks: [tick], alarm: .set(max(next, 20))))
            #expect(scheduler.firing(at: 30) == Firing(ticks: [Ticked(timer, 0, next)], completed: [timer]))
        }
    }

    @Test func aRescheduledTimerStartsAnewAsTheLastAmongEqualDeadlines() {
        let timers = (0..<3).map { _ in scheduler.add(every(10, from: 10)).timer }
        #expect(scheduler.firing(at: 55).ticks == timers.map { Ticked($0, 0, 10, latest: 50, missed: 4) })
        #expect(scheduler.reschedule(timers[0], on: every(100, from: 60)) == .leave)
        let ticks = [(1, 5), (2, 5), (0, 0)].map { Ticked(timers[$0], $1, 60) }
        #expect(scheduler.firing(at: 60).ticks == ticks)
    }

    // MARK: Extra ticks

    @Test func anExtraTickDoesNotDelayCatchingUp() {
        let late = scheduler.add(every(76, from: 76), policy: .catchUp(limit: 2), tolerance: 39).timer
        let other = scheduler.add(once(at: 100)).timer
        let firing = scheduler.firing(at: 158) { scheduler, tick in
            if tick.timer == other { _ = scheduler.fire(late, at: 158) }
        }
        #expect(firing.ticks == [Ticked(other, 0, 100), Ticked(late, 0, 76), Ticked(late, 1, 152)])
    }

    /// It is still where it was before it was postponed, and comes out there.
    @Test func anExtraTickOfAPostponedTimerWaitsForTheNextRound() {
        let other = scheduler.add(once(at: 50)).timer
        let timer = scheduler.add(once(at: 100), tolerance: 16).timer
        let firing = scheduler.firing(at: 125) { scheduler, _ in
            #expect(scheduler.reschedule(timer, on: once(at: 124)) == .leave)
            #expect(scheduler.fire(timer, at: 125) == .leave)
        }
        #expect(firing == Firing(ticks: [Ticked(other, 0, 50)], completed: [other], alarm: .set(125)))
        #expect(scheduler.firing(at: 125).ticks.map(\.due.deadline) == [124])
    }

    // MARK: A repeating alarm

    /// An alarm that repeats by itself would fire between the deadlines.
    @Test func onlyWholePeriodsWithNothingBesidesRepeat() {
        let timer = scheduler.add(every(300, from: 300)).timer
        let schedules = [
            every(300, from: 300), ResolvedSchedule(.afterOneStep, .rate(3, per: 900)),
            ResolvedSchedule(.at(300), .every(300), .init(jitter: 10)),
            ResolvedSchedule(.after(300), .every(300), .init(span: 900)), every(300, from: 300),
        ]
        let periods = schedules.map { schedule in
            _ = scheduler.reschedule(timer, on: schedule)
            return scheduler.periodFromNext
        }
        #expect(periods == [300, nil, nil, nil, 300])
        _ = scheduler.fire(timer, at: 100)
        #expect(scheduler.periodFromNext == nil)
    }
}
