import PreciseTimer
import TestSupport
import Testing

/// However many timers there are, no method does more than one batch of work per call.
final class SchedulerBatchTests {
    private var scheduler = Scheduler()

    @Test func aThousandPostponedOrClosedTimersAreSkippedInBatches() {
        let postponed = (0..<500).map { _ in scheduler.add(once(at: 10)).timer }
        for timer in postponed { #expect(scheduler.reschedule(timer, on: once(at: 500)) == .leave) }
        #expect(asks(at: 10) == 500 / Scheduler.batch)
        #expect(scheduler.endRound() == .set(500))
        for _ in 0..<500 { _ = scheduler.add(once(at: 10)) }
        scheduler.close()
        let newer = scheduler.add(once(at: 500)).timer
        #expect(asks(at: 500) == 1_000 / Scheduler.batch)
        #expect(newer.stage == .dispatched)
    }

    @Test func aThousandDeferredTimersAreGatheredInBatches() {
        scheduler.beginRound(at: 10)
        #expect(scheduler.firstDue() == nil, "the round knows its timers from now on")
        let timers = (0..<1_000).map { scheduler.add(once(at: 10 - UInt64($0 % 2)), tolerance: 1).timer }
        #expect(scheduler.firstDue() == nil && !scheduler.hasDue, "what comes due in a round waits for the next")
        #expect(scheduler.endRound() == .set(9))
        #expect(asks(at: 10) == 1_000 / Scheduler.batch)
        #expect(timers[1].stage == .dispatched)
        #expect(scheduler.takeNext() == timers[3])
    }

    /// A batch may gather only timers that were postponed meanwhile. Nothing is due then, and others are left.
    @Test func aDeferredTimerBehindAHundredPostponedOnesHasItsTurnInTheSameRound() {
        scheduler.beginRound(at: 10)
        #expect(scheduler.firstDue() == nil)
        let postponed = (0..<100).map { _ in scheduler.add(once(at: 9)).timer }
        let timer = scheduler.add(once(at: 10)).timer
        #expect(scheduler.endRound() == .set(9))
        for timer in postponed { #expect(scheduler.reschedule(timer, on: once(at: 1_000)) == .leave) }
        #expect(asks(at: 10) == 1)
        #expect(timer.stage == .dispatched)
    }

    @Test func aTimerBehindAHundredPostponedOnesHasItsTurnInTheSameRound() {
        let postponed = (0..<100).map { _ in scheduler.add(once(at: 10), tolerance: 64).timer }
        let timer = scheduler.add(once(at: 11), tolerance: 64).timer
        for timer in postponed { #expect(scheduler.reschedule(timer, on: once(at: 1_000)) == .leave) }
        #expect(asks(at: 64) == 1)
        #expect(timer.stage == .dispatched)
    }

    /// An early firing finds fifty postponed timers. The alarm must not fire for them again.
    @Test func theEndOfARoundMovesPostponedTimersToTheirPlace() {
        let postponed = (0..<50).map { _ in scheduler.add(once(at: 10)).timer }
        for timer in postponed { #expect(scheduler.reschedule(timer, on: once(at: 500)) == .leave) }
        #expect(asks(at: 5) == 0)
        #expect(scheduler.endRound() == .set(500))
    }

    @Test func manyTimersOfOneInstantTickInOrderOfScheduling() {
        let count = Effort.of(20_000, thorough: 1_000_000, inDebug: 100_000)
        let timers = (0..<count).map { _ in scheduler.add(once(at: 10)).timer }
        scheduler.beginRound(at: 10)
        let wrong = timers.count { timer in
            guard scheduler.firstDue() == timer else { return true }
            return scheduler.begin(timer, at: 10) == nil
                || scheduler.finish(timer, decidedAt: 10, now: 10) != .completes
        }
        #expect(wrong == 0)
        #expect(scheduler.endRound() == .leave)
        #expect(scheduler.count == 0)
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
