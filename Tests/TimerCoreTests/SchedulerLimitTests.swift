import PreciseTimer
import TestSupport
import Testing

// What bounds the scheduler: the work of a call, the late ticks of a round, and a close.

/// However many timers there are, no method does more than one batch of work per call.
final class SchedulerBatchTests {
    private var scheduler = Scheduler()

    @Test func aThousandPostponedOrClosedTimersAreSkippedInBatches() {
        addPostponed(500, at: 10, to: 500)
        #expect(asks(at: 10) == 500 / Scheduler.batch && scheduler.endRound(at: 10) == .set(500))
        for _ in 0..<500 { _ = scheduler.add(once(at: 10)) }
        scheduler.close()
        let newer = scheduler.add(once(at: 500)).timer
        #expect(asks(at: 500) == 1_000 / Scheduler.batch && newer.stage == .dispatched)
    }

    @Test func timersThatComeDueInARoundTickInTheNextInTheOrderOfAllTimers() {
        scheduler.beginRound(at: 10)
        let timers = (0..<100).map { scheduler.add(once(at: 10 - UInt64($0 % 2))).timer }
        #expect(scheduler.firstDue() == nil && !scheduler.hasDue && scheduler.endRound(at: 15) == .set(10))
        let inOrder = [1, 0].flatMap { rest in (0..<100).filter { $0 % 2 == rest }.map { timers[$0] } }
        #expect(scheduler.firing(at: 10).completed == inOrder)
    }

    /// A batch may find only timers that were postponed. Nothing is due then, and others are left. Timers that came due
    /// during the former round are not in their way.
    @Test(arguments: [(1, asks: 1), (64, asks: 0)] as [(UInt64, asks: Int)])
    func aTimerBehindAHundredPostponedOnesHasItsTurnInTheSameRound(formerRound: UInt64, asks count: Int) {
        scheduler.beginRound(at: formerRound)
        let postponed = (0..<100).map { _ in scheduler.add(once(at: 10)).timer }
        let timer = scheduler.add(once(at: 11)).timer
        #expect(scheduler.endRound(at: 10) == .set(10))
        for timer in postponed { #expect(scheduler.reschedule(timer, on: once(at: 1_000)) == .leave) }
        #expect(asks(at: 64) == count && timer.stage == .dispatched)
    }

    /// An early firing finds fifty postponed timers. The alarm must not fire for them again.
    @Test func theEndOfARoundMovesPostponedTimersToTheirPlace() {
        addPostponed(50, at: 10, to: 500)
        #expect(asks(at: 5) == 0 && scheduler.endRound(at: 5) == .set(500))
    }

    @Test func manyTimersOfOneInstantTickInOrderOfScheduling() {
        let count = Effort.of(20_000, thorough: 1_000_000, inDebug: 100_000)
        let timers = (0..<count).map { _ in scheduler.add(once(at: 10)).timer }
        #expect(scheduler.firing(at: 10).completed == timers && scheduler.count == 0)
    }

    @Test func afterABatchOfLateTicksOtherDueTimersGetTheirTurn() {
        let slow = scheduler.add(every(1, from: 1), policy: .catchUp(limit: 1_000)).timer
        let (other, batch) = (TimerRecord(), UInt64(Scheduler.batch))
        let first = scheduler.firing(at: 200) { scheduler, ticked in
            if ticked.due.index == 0 { _ = scheduler.add(other, on: once(at: 2)) }
        }
        #expect(first == Firing(ticks: (0...batch).map { Ticked(slow, $0, $0 + 1) }, alarm: .set(200)), "at once")
        let second = (batch + 1...2 * batch + 1).map { Ticked(slow, $0, $0 + 1) }
        #expect(scheduler.firing(at: 200).ticks == [Ticked(other, 0, 2)] + second)
    }

    /// Adds timers that are postponed before their first deadline.
    private func addPostponed(_ count: Int, at first: UInt64, to deadline: UInt64) {
        for timer in (0..<count).map({ _ in scheduler.add(once(at: first)).timer }) {
            #expect(scheduler.reschedule(timer, on: once(at: deadline)) == .leave)
        }
    }

    /// How often a round must ask again before it finds a turn, or finds that all turns are over.
    private func asks(at now: UInt64) -> Int {
        scheduler.beginRound(at: now)
        var asks = 0
        while true {
            if let timer = scheduler.firstDue() {
                scheduler.send(timer)
                return asks
            }
            if !scheduler.hasDue { return asks }
            asks += 1
        }
    }
}

/// After a close, the present timers are ended one by one and do not tick. Newer timers keep ticking.
final class SchedulerCloseTests {
    private var scheduler = Scheduler()

    @Test func everyTimerPresentAtTheCloseIsEndedOnce() {
        let timers = (0..<5).map { scheduler.add(once(at: 10 + UInt64($0))).timer }
        #expect(scheduler.end(timers[1]) == true)
        scheduler.close()
        #expect(scheduler.end(timers[2]) == true)
        #expect(endClosed() == 3 && scheduler.count == 0 && scheduler.nextWakeTime == nil)
        let shutDown = TimerEnding.serviceShutDown
        #expect(timers.map(\.ending) == [shutDown, .cancelled, .cancelled, shutDown, shutDown])
    }

    @Test func newerTimersTickBeforeAllClosedTimersAreEnded() {
        for tolerance in [0, 4, 8] as [UInt64] { _ = scheduler.add(every(10, from: 10), tolerance: tolerance) }
        scheduler.close()
        let newer = scheduler.add(every(10, from: 15)).timer
        #expect(scheduler.firing(at: 30).ticks == [Ticked(newer, 0, 15, latest: 25, missed: 1)] && scheduler.count == 4)
        #expect(endClosed() == 3 && scheduler.count == 1)
        #expect(scheduler.firing(at: 35).ticks == [Ticked(newer, 2, 35)])
    }

    @Test func anAlarmRepeatsForNoClosedTimer() {
        _ = scheduler.add(every(10, from: 25))
        scheduler.close()
        let (newer, order) = scheduler.add(every(10, from: 15))
        #expect(order == .set(15) && scheduler.periodFromNext == 10)
        scheduler.alarmGoesOn(every: 10)
        #expect(scheduler.end(newer) && scheduler.firing(at: 15) == Firing(alarm: .disarm))
        #expect(scheduler.add(once(at: 50)).alarm == .set(50) && scheduler.periodFromNext == nil)
    }

    /// After a close there is no alarm to set. An order for it would be lost, and the next alarm would stay unset.
    @Test(arguments: [false, true])
    func aHopOfAClosedTimerDoesNotTickAndGivesNoOrder(isInItsHandler: Bool) {
        let timer = scheduler.add(every(10, from: 10), policy: .catchUp(limit: 9)).timer
        _ = scheduler.add(once(at: 50))
        #expect(scheduler.take(at: 40) == timer)
        if isInItsHandler { #expect(scheduler.begin(timer, at: 40) == Expiration(index: 0, deadline: 10)) }
        scheduler.close()
        if isInItsHandler { #expect(scheduler.putBack(timer, decidedAt: 40, byHop: true, now: 40) == .leave) }
        if timer.isInDelivery {
            #expect(scheduler.begin(timer, at: 40) == nil)
            #expect(scheduler.putBack(timer, decidedAt: 40, now: 40) == .leave)
        }
        #expect(scheduler.endRound(at: 40) == .leave)
        let order = scheduler.add(once(at: 60)).alarm
        #expect([.set(50), .set(60)].contains(order) && endClosed() == 2 && timer.ending == .serviceShutDown)
    }

    @Test func aRequestToAClosedTimerGivesNoOrder() {
        let timers = (0..<4).map { scheduler.add(once(at: 10 + 10 * UInt64($0))).timer }
        _ = scheduler.pause(timers[3])
        scheduler.close()
        let orders = [
            scheduler.fire(timers[0], at: 5), scheduler.reschedule(timers[1], on: once(at: 6)),
            scheduler.resume(timers[3]),
        ]
        #expect(orders == [.leave, .leave, .leave] && scheduler.add(once(at: 90)).alarm != .leave)
    }

    @Test func aCloseEndsTheRound() {
        let (old, newer) = ((0..<2).map { _ in scheduler.add(once(at: 10)).timer }, TimerRecord())
        let firing = scheduler.firing(at: 10) { scheduler, _ in
            scheduler.close()
            #expect(scheduler.round == nil)
            _ = scheduler.add(newer, on: once(at: 10))
        }
        #expect(firing.ticks.map(\.timer) == [old[0]])
        #expect(scheduler.firing(at: 11).ticks.map(\.timer) == [newer] && scheduler.closing == old[1])
    }

    /// Ends the closed timers, and returns their number.
    private func endClosed() -> Int {
        var count = 0
        while let timer = scheduler.closing, scheduler.end(timer, .serviceShutDown) == timer { count += 1 }
        return count
    }
}
