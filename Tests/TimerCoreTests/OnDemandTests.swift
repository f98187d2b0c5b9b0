import Testing
@_spi(Engine) import TimerCore

/// A timer on demand has no deadline until it is rescheduled, and rests when its last deadline has been served.
final class OnDemandTests {
    private var scheduler = Scheduler()

    @Test func aTimerOnDemandRestsAfterEachDeadlineUntilItIsRescheduled() {
        let (timer, order) = scheduler.add(onDemand)
        #expect(order == .leave)
        #expect(scheduler.nextLook == nil)
        #expect(scheduler.firing(at: .max).ticks == [])
        for deadline in [10, 20, 30] as [UInt64] {
            #expect(scheduler.reschedule(timer, on: once(at: deadline)) == .set(deadline))
            #expect(scheduler.firing(at: deadline + 2) == Firing(ticks: [Ticked(timer, 0, deadline)]))
            #expect(scheduler.nextLook == nil)
        }
        #expect(scheduler.end(timer) == true)
        #expect(scheduler.reschedule(timer, on: once(at: 40)) == nil)
    }

    @Test func aRepeatingTimerRescheduledOnDemandRests() {
        let timer = scheduler.add(every(10, from: 10)).timer
        #expect(scheduler.reschedule(timer, on: onDemand) == .leave)
        #expect(scheduler.firing(at: 100).ticks == [])
        #expect(scheduler.reschedule(timer, on: every(10, from: 110)) == .set(110))
        #expect(scheduler.firing(at: 125).ticks == [Ticked(timer, 0, 110, missed: 1)])
        #expect(scheduler.nextLook == 130)
    }

    @Test func anExtraTickDoesNotEndATimerOnDemand() {
        let timer = scheduler.add(onDemand, tolerance: 50).timer
        #expect(scheduler.fire(timer, at: 7) == .set(7))
        #expect(scheduler.firing(at: 8) == Firing(ticks: [Ticked(timer, 0, 7)]))
    }
}
