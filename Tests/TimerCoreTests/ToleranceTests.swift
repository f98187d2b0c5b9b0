import PreciseTimer
import TestSupport
import Testing

/// A tolerance lets timers share a wake-up, and makes no tick later than it allows.
final class ToleranceTests {
    private var scheduler = Scheduler()

    private struct Outcome {
        var rounds = 0
        var ticks = 0
        var early = 0
        var tooLate = 0
        var outOfOrder = 0
    }

    @Test func aThousandTimersWithAToleranceShareTheirWakeUps() {
        let shared = run { _ in 100_000 }
        // Deadlines over 3 ms, each with its wake time at the next multiple of 2^16 ns.
        #expect(shared.rounds <= 3_000_000 / 65_536 + 2)
        #expect(shared.ticks == 1_000)
        let alone = run { _ in 0 }
        #expect(alone.rounds > 900, "without a tolerance each deadline has its own round")
    }

    @Test func everyRoundIsAfterTheDeadlineAndWithinTheTolerance() {
        let outcome = run { UInt64($0) * UInt64($0) % 200_003 }
        #expect(outcome.ticks == 1_000)
        #expect(outcome.early == 0)
        #expect(outcome.tooLate == 0)
        #expect(outcome.rounds < 500)
    }

    @Test func ticksOfOneRoundAreInOrderOfDeadlineDespiteTheirTolerances() {
        // Long and short tolerances alternate, so that the order of the wake times differs from that of the deadlines.
        let outcome = run { $0 % 2 == 0 ? 200_000 : 1_000 }
        #expect(outcome.outOfOrder == 0)
        #expect(outcome.ticks == 1_000)
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

    @Test func anExtraTickDoesNotWaitForAWakeTime() {
        let timer = scheduler.add(every(1_000, from: 1_000), tolerance: 64).timer
        #expect(scheduler.nextWakeTime == 1_024)
        #expect(scheduler.fire(timer, at: 100) == .set(100))
        let extra = scheduler.firing(at: 100)
        #expect(extra == Firing(ticks: [Ticked(timer, 0, 100, isExtra: true)], alarm: .set(1_024)))
    }

    @Test func anExtraTickEndsTheWaitForAWakeTime() {
        let timer = scheduler.add(every(1_000, from: 1_000), tolerance: 64).timer
        #expect(scheduler.fire(timer, at: 1_010) == .set(1_010))
        #expect(scheduler.nextWakeTime == 1_010)
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
        _ = scheduler.add(every(1_000, from: 1_000), tolerance: 64)
        #expect(scheduler.periodFromNext == nil)
        _ = scheduler.add(every(1_000, from: 1_030))
        #expect(scheduler.periodFromNext == nil, "the wake time at 1,024 comes first")
        _ = scheduler.add(every(1_000, from: 1_020))
        #expect(scheduler.periodFromNext == 1_000)
    }

    /// Runs a thousand timers of one deadline each to the end, with a round at each wake time of the scheduler.
    private func run(tolerance: (Int) -> UInt64) -> Outcome {
        var (random, outcome) = (SeededGenerator(seed: 11), Outcome())
        var tolerances: [ObjectIdentifier: UInt64] = [:]
        for number in 0..<1_000 {
            let deadline = UInt64.random(in: 1...3_000_000, using: &random)
            let timer = scheduler.add(once(at: deadline), tolerance: tolerance(number)).timer
            tolerances[ObjectIdentifier(timer)] = tolerance(number)
        }
        while let now = scheduler.nextWakeTime {
            let ticks = scheduler.firing(at: now).ticks
            outcome.rounds += 1
            outcome.ticks += ticks.count
            for (earlier, later) in zip(ticks, ticks.dropFirst()) where earlier.due.deadline > later.due.deadline {
                outcome.outOfOrder += 1
            }
            for tick in ticks {
                if tick.due.deadline > now { outcome.early += 1 }
                if tick.due.deadline + (tolerances[ObjectIdentifier(tick.timer)] ?? 0) < now { outcome.tooLate += 1 }
            }
        }
        return outcome
    }
}
