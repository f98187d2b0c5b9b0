import PreciseTimer
import Testing

/// After a close, the present timers are ended one by one and do not tick. Newer timers keep ticking.
final class SchedulerCloseTests {
    private var scheduler = Scheduler()

    @Test func everyTimerPresentAtTheCloseIsEndedOnce() {
        let timers = (0..<5).map { scheduler.add(once(at: 10 + UInt64($0))).timer }
        #expect(scheduler.end(timers[1]) == true)
        scheduler.close()
        #expect(scheduler.end(timers[2]) == true)
        var ended = 0
        while let timer = scheduler.closing, scheduler.end(timer, .serviceShutDown) != nil { ended += 1 }
        #expect(ended == 3)
        #expect(timers[1...2].allSatisfy { $0.ending == .cancelled })
        #expect([0, 3, 4].allSatisfy { timers[$0].ending == .serviceShutDown })
        #expect(scheduler.count == 0)
        #expect(scheduler.nextWakeTime == nil)
    }

    @Test func newerTimersTickBeforeAllClosedTimersAreEnded() {
        for tolerance in [0, 4, 8] as [UInt64] { _ = scheduler.add(every(10, from: 10), tolerance: tolerance) }
        scheduler.close()
        let newer = scheduler.add(every(10, from: 15)).timer
        #expect(scheduler.firing(at: 30).ticks == [Ticked(newer, 0, 15, missed: 1)])
        #expect(scheduler.count == 4)
        while let timer = scheduler.closing { #expect(scheduler.end(timer, .serviceShutDown) != nil && timer != newer) }
        #expect(scheduler.count == 1)
        #expect(scheduler.firing(at: 35).ticks == [Ticked(newer, 2, 35)])
    }

    @Test func anAlarmThatRepeatsForNoTimerIsDisarmedWhileClosedTimersAreLeft() {
        _ = scheduler.add(every(10, from: 25))
        scheduler.close()
        let (newer, order) = scheduler.add(every(10, from: 15))
        #expect(order == .set(15))
        scheduler.alarmGoesOn(every: 10)
        #expect(scheduler.end(newer) == true)
        #expect(scheduler.firing(at: 15) == Firing(alarm: .disarm))
    }

    @Test(arguments: [false, true])
    func aHopOfAClosedTimerDoesNotTick(isInItsHandler: Bool) {
        let timer = scheduler.add(every(10, from: 10), policy: .catchUp(limit: 9)).timer
        #expect(scheduler.take(at: 40) == timer)
        if isInItsHandler { #expect(scheduler.begin(timer, at: 40) == Expiration(index: 0, deadline: 10, missed: 0)) }
        scheduler.close()
        if isInItsHandler { _ = scheduler.finish(timer, decidedAt: 40, byHop: true, now: 40) }
        if timer.isInDelivery {
            #expect(scheduler.begin(timer, at: 40) == nil)
            #expect(scheduler.finish(timer, decidedAt: 40, now: 40) == .waits(.leave))
        }
        #expect(scheduler.nextWakeTime == nil)
        #expect(scheduler.closing == timer)
        #expect(scheduler.end(timer, .serviceShutDown) == timer)
    }

    /// After a close there is no alarm to set. An order for it would be lost, and the next alarm would stay unset.
    @Test func aClosedTimerThatReturnsFromItsHopGivesNoOrder() {
        let timer = scheduler.add(once(at: 10)).timer
        _ = scheduler.add(once(at: 20))
        #expect(scheduler.take(at: 10) == timer)
        scheduler.close()
        let due = scheduler.begin(timer, at: 11)
        let after = scheduler.finish(timer, decidedAt: 11, now: 11)
        #expect(due == nil && after == .waits(.leave))
        let order = scheduler.add(TimerRecord(), on: once(at: 30))
        #expect(order == .set(20) || order == .set(30))
    }

    @Test func aRequestToAClosedTimerGivesNoOrder() {
        let timers = (0..<4).map { scheduler.add(once(at: 10 + 10 * UInt64($0))).timer }
        _ = scheduler.pause(timers[3])
        scheduler.close()
        let orders = [
            scheduler.fire(timers[0], at: 5), scheduler.reschedule(timers[1], on: once(at: 6)),
            scheduler.resume(timers[3]),
        ]
        #expect(orders == [.leave, .leave, .leave])
        let order = scheduler.add(TimerRecord(), on: once(at: 90))
        #expect(order != .leave)
    }

    @Test func aCloseEndsTheRound() {
        let (old, newer) = ((0..<2).map { _ in scheduler.add(once(at: 10)).timer }, TimerRecord())
        let firing = scheduler.firing(at: 10) { scheduler, _ in
            scheduler.close()
            #expect(scheduler.round == nil)
            _ = scheduler.add(newer, on: once(at: 10))
        }
        #expect(firing.ticks.map(\.timer) == [old[0]])
        #expect(scheduler.firing(at: 11).ticks.map(\.timer) == [newer])
        #expect(scheduler.closing == old[1])
    }

    @Test func anAlarmDoesNotRepeatWithThePeriodOfATimerThatMustBeEnded() {
        _ = scheduler.add(every(10, from: 20))
        scheduler.close()
        #expect(scheduler.add(once(at: 50)).alarm == .set(50))
        #expect(scheduler.periodFromNext == nil)
    }
}
