import Testing
@_spi(Engine) import TimerCore

/// However many timers there are, no method does more than a portion of the work at once.
final class SchedulerPortionTests {
    private var scheduler = Scheduler()

    @Test func aThousandPostponedTimersAreMovedInPortions() {
        let timers = (0..<1_000).map { _ in scheduler.add(once(at: 10)).timer }
        for timer in timers { #expect(scheduler.reschedule(timer, on: once(at: 500)) == .leave) }
        scheduler.beginLook(at: 10)
        #expect(firstTurn(&scheduler) == (15, nil))
        #expect(scheduler.endLook() == .set(500))
        #expect(scheduler.firing(at: 500).ticks.map(\.timer) == timers)
    }

    @Test func aThousandTimersWithAToleranceAreGatheredInPortions() {
        let timers = (0..<1_000).map { scheduler.add(once(at: 2_000 - UInt64($0)), tolerance: 4_096).timer }
        #expect(scheduler.nextLook == 4_096)
        scheduler.beginLook(at: 4_096)
        #expect(firstTurn(&scheduler) == (15, timers[999]))
        #expect(scheduler.takeNext() == timers[998])
    }

    @Test func aThousandClosedTimersArePassedOverInPortions() {
        for _ in 0..<1_000 { _ = scheduler.add(once(at: 10)) }
        scheduler.close()
        let newer = scheduler.add(once(at: 10)).timer
        scheduler.beginLook(at: 10)
        #expect(firstTurn(&scheduler) == (15, newer))
    }

    @Test func timersCanEndBetweenTwoPortions() {
        let timers = (0..<200).map { _ in scheduler.add(once(at: 100), tolerance: 64).timer }
        scheduler.beginLook(at: 128)
        if case .notFound = scheduler.next() {} else { Issue.record("200 timers are more than a portion") }
        for timer in timers[1...] { #expect(scheduler.end(timer) == true) }
        #expect(scheduler.takeNext() == timers[0])
        #expect(scheduler.takeNext() == nil)
        #expect(scheduler.brokenInvariant == nil)
    }

    @Test func aMillionTimersOfOneInstantComeOneAtATimeInOrderOfScheduling() {
        let timers = (0..<1_000_000).map { _ in scheduler.add(once(at: 10)).timer }
        scheduler.beginLook(at: 10)
        let wrong = timers.count { timer in
            guard case .of(timer) = scheduler.next() else { return true }
            return scheduler.begin(timer, at: 10) == nil || scheduler.finish(timer, lookedAt: 10, now: 10) != .completes
        }
        #expect(wrong == 0)
        #expect(scheduler.endLook() == .leave)
        #expect(scheduler.count == 0)
    }

    /// How often a look must ask again before it finds a turn, and whose turn.
    private func firstTurn(_ scheduler: inout Scheduler) -> (asks: Int, timer: TimerEntry?) {
        var asks = 0
        while true {
            switch scheduler.next() {
            case .notFound: asks += 1
            case .none: return (asks, nil)
            case .of(let timer): return (asks, timer)
            }
        }
    }
}
