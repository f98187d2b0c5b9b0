import PreciseTimer
import Testing

/// Why the scheduler has a queue for each tolerance, and one of deferred timers: what a single queue would do, by wake
/// times or by deadlines, and which promise that breaks.
final class OneQueueTests {
    private var scheduler = Scheduler()

    /// By wake times, the timer with the later deadline would come first.
    @Test func ofTwoTimersOfOneWakeTimeTheEarlierDeadlineTicksFirst() {
        let shared = scheduler.add(once(at: 10), tolerance: 64).timer
        let exact = scheduler.add(once(at: 50)).timer
        let byWakeTime = [shared, exact].sorted { $0.timing.wakeTime < $1.timing.wakeTime }
        #expect(scheduler.firing(at: 64).ticks.map(\.timer) == [shared, exact])
        #expect(byWakeTime == [exact, shared])
    }

    /// By deadlines, the alarm would fire at 10, and find that nothing must be done until 64.
    @Test func aTimerWithAToleranceDoesNotWakeTheThreadAtItsDeadline() {
        let (timer, order) = scheduler.add(once(at: 10), tolerance: 64)
        #expect(timer.timing.nextDeadline == 10)
        #expect(order == .set(64))
    }

    /// By deadlines, a timer that makes itself due would be the first each time.
    @Test func aTimerThatIsDueAgainAndAgainLeavesTheOthersTheirTurn() {
        let greedy = scheduler.add(once(at: 1)).timer
        let other = scheduler.add(once(at: 10)).timer
        let firing = scheduler.firing(at: 20) { scheduler, ticked in
            if ticked.timer == greedy { _ = scheduler.reschedule(greedy, on: once(at: 1)) }
        }
        #expect(firing.ticks.map(\.timer) == [greedy, other])
        #expect(firing.alarm == .set(1))
    }
}
