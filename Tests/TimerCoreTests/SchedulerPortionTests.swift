import PreciseTimer
import TestSupport
import Testing

/// However many timers there are, no method does more than one portion of work per call.
final class SchedulerPortionTests {
    private var scheduler = PlainScheduler()

    @Test func aThousandPostponedOrClosedTimersAreSkippedInPortions() {
        let postponed = (0..<500).map { _ in scheduler.add(once(at: 10)).timer }
        for timer in postponed { #expect(scheduler.reschedule(timer, on: once(at: 500)) == .leave) }
        #expect(asks(at: 10) == 500 / PlainScheduler.portion)
        #expect(scheduler.endLook() == .set(500))
        for _ in 0..<500 { _ = scheduler.add(once(at: 10)) }
        scheduler.close()
        let newer = scheduler.add(once(at: 500)).timer
        #expect(asks(at: 500) == 1_000 / PlainScheduler.portion)
        #expect(newer.whereabouts == .onItsWay)
    }

    @Test func aThousandTimersWithAToleranceAreGatheredInPortions() {
        let timers = (0..<1_000).map { scheduler.add(once(at: 2_000 - UInt64($0)), tolerance: 4_096).timer }
        #expect(scheduler.nextLook == 4_096)
        #expect(asks(at: 4_096) == 1_000 / PlainScheduler.portion)
        #expect(timers[999].whereabouts == .onItsWay)
        #expect(scheduler.takeNext() == timers[998])
    }

    /// While timers leave the queue of looks, nothing need be in the queue of deadlines.
    @Test func aTimerBehindAHundredPostponedOnesHasItsTurnInTheSameLook() {
        let postponed = (0..<100).map { _ in scheduler.add(once(at: 10), tolerance: 64).timer }
        let timer = scheduler.add(once(at: 11), tolerance: 64).timer
        for timer in postponed { #expect(scheduler.reschedule(timer, on: once(at: 1_000)) == .leave) }
        #expect(asks(at: 64) == 1)
        #expect(timer.whereabouts == .onItsWay)
    }

    /// An early firing finds fifty postponed timers. The alarm must not fire for them again.
    @Test func theEndOfALookMovesPostponedTimersToTheirPlace() {
        let postponed = (0..<50).map { _ in scheduler.add(once(at: 10)).timer }
        for timer in postponed { #expect(scheduler.reschedule(timer, on: once(at: 500)) == .leave) }
        #expect(asks(at: 5) == 0)
        #expect(scheduler.endLook() == .set(500))
    }

    @Test func manyTimersOfOneInstantTickInOrderOfScheduling() {
        let count = Effort.of(20_000, thorough: 1_000_000, inDebug: 100_000)
        let timers = (0..<count).map { _ in scheduler.add(once(at: 10)).timer }
        scheduler.beginLook(at: 10)
        let wrong = timers.count { timer in
            guard scheduler.firstDue() == timer else { return true }
            return scheduler.begin(timer, at: 10) == nil || scheduler.finish(timer, lookedAt: 10, now: 10) != .completes
        }
        #expect(wrong == 0)
        #expect(scheduler.endLook() == .leave)
        #expect(scheduler.count == 0)
    }

    /// How often a look must ask again before it finds a turn, or finds that all turns are over.
    private func asks(at look: UInt64) -> Int {
        scheduler.beginLook(at: look)
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
