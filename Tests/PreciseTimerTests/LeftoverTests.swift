import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// What ended timers leave behind: nothing, whatever was on its way.
@Suite(.timeLimit(.minutes(10))) struct LeftoverTests {
    private let virtual = VirtualTime()

    /// How many slots the service has needed, which grows by what is not given back.
    private var slots: Int { virtual.service.slotCapacity }

    @Test func iterationsThatEndWithATickPendingGiveTheirSlotBack() {
        for _ in 0..<100 {
            let ticks = PreciseTimer.ticks(.every(.seconds(1)), on: virtual.service).makeAsyncIterator()
            virtual.advance(by: .seconds(1))
            withExtendedLifetime(ticks) {}
        }
        #expect(virtual.pendingCount == 0)
        #expect(slots == 1)
    }

    @Test func timersCancelledOnTheWayToAQueueGiveTheirSlotBack() async throws {
        let place = Place(.serialQueue)
        for _ in 0..<20 {
            let gate = Gate()
            await place.block(until: gate)
            let timer = try place.schedule(.once(after: .seconds(1)), on: virtual.service, target: gate) { _ in }
            virtual.advance(by: .seconds(1))
            timer.cancel()
            gate.open()
            await place.settle()
        }
        #expect(slots <= 2)
    }

    @Test func catchingUpTakesNoMemoryForTicksToCome() throws {
        let (start, count) = (virtual.now, Count())
        virtual.jump(by: .seconds(100))
        try PreciseTimer.schedule(
            .every(.milliseconds(1), at: start),
            on: virtual.service,
            missedTicks: .catchUp(limit: .max),
            target: count
        ) { count, _ in count.add(1) }
        virtual.advance(by: .zero)
        #expect(count.value == 100_001)
    }
}
