import Testing

@testable import PreciseTimer

/// A tolerance lets timers share a wake-up, and makes no tick later than it allows. Tolerances of 64 are exact.
final class ToleranceTests {
    private var scheduler = Scheduler()

    /// A thousand deadlines over 3 ms, with a round at each wake time of the scheduler.
    @Test(arguments: [
        ([0], 901...1_000), ([100_000], 28...40), ([200_000, 1_000], 1...600), ([77, 0, 199_999], 1...900),
    ])
    func roundsAreSharedWithinTheToleranceInOrderOfLastInstants(tolerances: [Int], rounds: ClosedRange<Int>) {
        let tolerance = { UInt64(tolerances[$0 % tolerances.count]) }
        var (random, timers) = (SeededGenerator(seed: 11), [TimerRecord]())
        for number in 0..<1_000 {
            let deadline = UInt64.random(in: 1...3_000_000, using: &random)
            timers.append(scheduler.add(once(at: deadline), tolerance: tolerance(number)).timer)
        }
        let lastInstants = timers.reduce(into: [:]) { instants, timer in
            instants[ObjectIdentifier(timer)] = timer.timing.lastInstant
        }
        var (count, ticks) = (0, 0)
        while let now = scheduler.nextWakeTime {
            let round = scheduler.firing(at: now).ticks
            (count, ticks) = (count + 1, ticks + round.count)
            let inOrder = round.map { lastInstants[ObjectIdentifier($0.timer)] ?? 0 }
            let areInTime = round.allSatisfy { tick in
                let latest = tick.due.deadline + tolerance(timers.firstIndex(of: tick.timer) ?? 0)
                return (tick.due.deadline...latest).contains(now)
            }
            #expect(inOrder == inOrder.sorted() && inOrder.first == now && areInTime)
        }
        #expect(rounds.contains(count) && ticks == 1_000)
    }

    @Test func ofTwoTimersTheOneThatMustTickFirstDoesAndTheOtherSharesItsRound() {
        let (tolerant, exact) = (scheduler.add(once(at: 10), tolerance: 64).timer, scheduler.add(once(at: 50)).timer)
        #expect(scheduler.nextWakeTime == 50 && scheduler.firing(at: 50).ticks.map(\.timer) == [exact, tolerant])
    }

    /// It wakes the thread in time for all that come after it, also for those that are due.
    @Test func aRoundStopsAtTheFirstTimerThatMustWait() {
        let timers = [(40, 0), (41, 16), (10, 64)]
            .map { deadline, tolerance in
                scheduler.add(once(at: deadline), tolerance: tolerance).timer
            }
        #expect(
            scheduler.firing(at: 40)
                == Firing(ticks: [Ticked(timers[0], 0, 40)], completed: [timers[0]], alarm: .set(57))
        )
        #expect(scheduler.firing(at: 57).ticks.map(\.timer) == [timers[1], timers[2]])
    }

    @Test func aPostponedTimerDoesNotStopARound() {
        let timers = [(20, 16), (10, 64)].map { scheduler.add(once(at: $0), tolerance: $1).timer }
        #expect(scheduler.reschedule(timers[0], on: once(at: 100)) == .leave)
        #expect(scheduler.firing(at: 36).ticks.map(\.timer) == [timers[1]])
    }

    /// Rules are an object more, and a longer way back into the queue.
    @Test(arguments: [0, 64, .max] as [UInt64])
    func aToleranceTakesNoRules(tolerance: UInt64) {
        let policies: [LatePolicy] = [.skip, .catchUp(limit: 2)]
        let timers = policies.map { scheduler.add(every(1_000, from: 1_000), policy: $0, tolerance: tolerance).timer }
        #expect(timers.map { $0.timing.isAhead(of: 999) } == [true, false])
    }

    @Test func anExtraTickHasNoToleranceAndEndsThatOfADueTick() {
        let timer = scheduler.add(every(1_000, from: 1_000), tolerance: 64).timer
        #expect(scheduler.nextWakeTime == 1_064 && scheduler.fire(timer, at: 100) == .set(100))
        let extra = Firing(ticks: [Ticked(timer, 0, 100, isExtra: true)], alarm: .set(1_064))
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

    /// An alarm that repeats by itself would fire at deadlines.
    @Test func anAlarmDoesNotRepeatForATimerWithATolerance() {
        let timers: [(UInt64, UInt64)] = [(1_000, 64), (1_070, 0), (1_020, 0)]
        let periods = timers.map { deadline, tolerance in
            _ = scheduler.add(every(1_000, from: deadline), tolerance: tolerance)
            return scheduler.periodFromNext
        }
        #expect(periods == [nil, nil, 1_000])
    }
}
