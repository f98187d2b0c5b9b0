import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// A timer that is always late and catches up does not starve the other timers of its service.
struct CatchUpFairnessTests {
    private let virtual = VirtualTime()

    @Test func aStormOfLateTicksDoesNotStarveItsSiblings() throws {
        let (virtual, storm, sibling) = (virtual, Log(), Log())
        try PreciseTimer.schedule(
            .every(.nanoseconds(1)),
            on: virtual.service,
            missedTicks: .catchUp(limit: 100_000),
            target: storm
        ) { storm, tick in
            storm.note(tick)
            // The handler takes a thousand periods.
            if storm.count < 5_000 { virtual.advance(by: .microseconds(1)) } else { virtual.service.shutdown() }
        }
        try PreciseTimer.schedule(.every(.milliseconds(1)), on: virtual.service, target: sibling) { $0.note($1) }
        virtual.advance(by: .nanoseconds(1))
        // Each call delivers the ticks that are due by then: at most one batch of the storm.
        for _ in 0..<1_000 { virtual.advance(by: .zero) }
        #expect(sibling.count >= 4)
        // The sibling may come due at the beginning of a batch of 65 ticks, and ticks after the next batch.
        let latest = sibling.ticks.map(\.lateness).max()
        #expect(latest.map { $0 <= .microseconds(130) } == true, "\(String(describing: latest))")
        let isComplete = storm.ticks.accounted == storm.count
        #expect(isComplete, "below the limit no tick is merged")
    }

    @Test func theLimitCountsTheTicksOfABurstOverAllItsLooks() throws {
        let (start, log) = (virtual.now, Log())
        virtual.jump(by: .milliseconds(999))
        try PreciseTimer.schedule(
            .every(.milliseconds(1), at: start),
            on: virtual.service,
            missedTicks: .catchUp(limit: 300),
            target: log
        ) { $0.note($1) }
        virtual.advance(by: .zero)
        #expect(log.count == 300)
        #expect(log.ticks.dropLast().allSatisfy { $0.missed == 0 })
        #expect(log.ticks.last?.missed == 700)
        virtual.jump(by: .milliseconds(400))
        #expect(log.count == 600, "the limit counts anew for the next burst")
        #expect(log.ticks.accounted == 1_400)
    }

    @Test func theTicksOfOneLookComeInOrderOfDeadlines() throws {
        let (start, order) = (virtual.now, Notes<TimerInstant>())
        virtual.jump(by: .milliseconds(40))
        for period in [2, 3] {
            try PreciseTimer.schedule(
                .every(.milliseconds(period), at: start),
                on: virtual.service,
                missedTicks: .catchUp(limit: 100),
                target: order
            ) { $0.append($1.deadline) }
        }
        virtual.advance(by: .zero)
        #expect(order.all.count == 21 + 14)
        #expect(order.all == order.all.sorted())
    }
}
