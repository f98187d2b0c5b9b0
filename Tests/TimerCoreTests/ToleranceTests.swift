import PreciseTimer
import Testing

/// A tolerance lets timers share a wake-up, and makes no tick later than it allows.
final class ToleranceTests {
    private var scheduler = Scheduler()

    /// A thousand deadlines over 3 ms, with a round at each wake time of the scheduler. The wake times of a tolerance
    /// of 100 µs are the multiples of 2^16 ns. Of two tolerances, the order of wake times is not that of deadlines.
    @Test(arguments: [
        ([0], 901...1_000), ([100_000], 1...47), ([200_000, 1_000], 1...600), ([77, 0, 199_999], 1...900),
    ])
    func roundsAreSharedWithinTheToleranceAndInOrder(tolerances: [Int], rounds: ClosedRange<Int>) {
        let tolerance = { UInt64(tolerances[$0 % tolerances.count]) }
        var (random, timers) = (SeededGenerator(seed: 11), [TimerRecord]())
        for number in 0..<1_000 {
            let deadline = UInt64.random(in: 1...3_000_000, using: &random)
            timers.append(scheduler.add(once(at: deadline), tolerance: tolerance(number)).timer)
        }
        var (count, ticks) = (0, 0)
        while let now = scheduler.nextWakeTime {
            let round = scheduler.firing(at: now).ticks
            (count, ticks) = (count + 1, ticks + round.count)
            let isInOrder = zip(round, round.dropFirst()).allSatisfy { $0.due.deadline <= $1.due.deadline }
            let areInTime = round.allSatisfy { tick in
                let latest = tick.due.deadline + tolerance(timers.firstIndex(of: tick.timer) ?? 0)
                return (tick.due.deadline...latest).contains(now)
            }
            #expect(isInOrder && areInTime)
        }
        #expect(rounds.contains(count) && ticks == 1_000)
    }

    /// The deferred ones are found first, which must not give them the first turns.
    @Test func timersThatWereDeferredTickInOrderOfDeadlineDespiteTheirTolerances() {
        let (first, exact) = (scheduler.add(once(at: 10)).timer, TimerRecord())
        let tolerant = TimerRecord(tolerance: 64)
        let firing = scheduler.firing(at: 64) { scheduler, _ in
            _ = scheduler.add(exact, on: once(at: 50))
            _ = scheduler.add(tolerant, on: once(at: 20))
        }
        #expect(firing == Firing(ticks: [Ticked(first, 0, 10)], completed: [first], alarm: .set(50)))
        let (earlier, later) = (scheduler.add(once(at: 5)).timer, scheduler.add(once(at: 60), tolerance: 8).timer)
        #expect(scheduler.firing(at: 64).ticks.map(\.timer) == [earlier, tolerant, exact, later])
    }

    @Test func anExtraTickDoesNotWaitForAWakeTimeAndEndsTheWaitForOne() {
        let timer = scheduler.add(every(1_000, from: 1_000), tolerance: 64).timer
        #expect(scheduler.nextWakeTime == 1_024 && scheduler.fire(timer, at: 100) == .set(100))
        let extra = Firing(ticks: [Ticked(timer, 0, 100, isExtra: true)], alarm: .set(1_024))
        #expect(scheduler.firing(at: 100) == extra)
        #expect(scheduler.fire(timer, at: 1_010) == .set(1_010) && scheduler.nextWakeTime == 1_010)
        #expect(scheduler.firing(at: 1_010).ticks == [Ticked(timer, 0, 1_000)])
    }

    /// The instant of the request may be before that of the round: its thread read the clock, and then waited for the
    /// lock.
    @Test func anExtraTickTakesNoTurnFromATimerThatIsDueInTheRound() {
        let (first, timer) = (scheduler.add(once(at: 5)).timer, scheduler.add(once(at: 10), tolerance: 64).timer)
        let firing = scheduler.firing(at: 70) { scheduler, ticked in
            if ticked.timer == first { _ = scheduler.fire(timer, at: 60) }
        }
        #expect(firing.ticks == [Ticked(first, 0, 5), Ticked(timer, 0, 10)])
        let extra = Ticked(timer, 1, 60, isExtra: true)
        #expect(scheduler.firing(at: 70) == Firing(ticks: [extra], completed: [timer]))
    }

    /// An alarm that repeats by itself would fire at deadlines, and the wake time at 1,024 comes before one at 1,030.
    @Test func anAlarmDoesNotRepeatForATimerWithATolerance() {
        let timers: [(UInt64, UInt64)] = [(1_000, 64), (1_030, 0), (1_020, 0)]
        let periods = timers.map { deadline, tolerance in
            _ = scheduler.add(every(1_000, from: deadline), tolerance: tolerance)
            return scheduler.periodFromNext
        }
        #expect(periods == [nil, nil, 1_000])
    }
}

/// Why the scheduler has a queue for each tolerance, and one of deferred timers: what a single queue would do, by wake
/// times or by deadlines, and which promise that breaks.
final class OneQueueTests {
    private var scheduler = Scheduler()

    /// By wake times, the timer with the later deadline would come first.
    @Test func ofTwoTimersOfOneWakeTimeTheEarlierDeadlineTicksFirst() {
        let shared = scheduler.add(once(at: 10), tolerance: 64).timer
        let exact = scheduler.add(once(at: 50)).timer
        let byWakeTime = [shared, exact].sorted { $0.timing.wakeTime < $1.timing.wakeTime }
        #expect(scheduler.firing(at: 64).ticks.map(\.timer) == [shared, exact] && byWakeTime == [exact, shared])
    }

    /// By deadlines, the alarm would fire at 10, and find that nothing must be done until 64.
    @Test func aTimerWithAToleranceDoesNotWakeTheThreadAtItsDeadline() {
        let (timer, order) = scheduler.add(once(at: 10), tolerance: 64)
        #expect(timer.timing.nextDeadline == 10 && order == .set(64))
    }

    /// By deadlines, a timer that makes itself due would be the first each time.
    @Test func aTimerThatIsDueAgainAndAgainLeavesTheOthersTheirTurn() {
        let (greedy, other) = (scheduler.add(once(at: 1)).timer, scheduler.add(once(at: 10)).timer)
        let firing = scheduler.firing(at: 20) { scheduler, ticked in
            if ticked.timer == greedy { _ = scheduler.reschedule(greedy, on: once(at: 1)) }
        }
        #expect(firing.ticks.map(\.timer) == [greedy, other] && firing.alarm == .set(1))
    }
}
