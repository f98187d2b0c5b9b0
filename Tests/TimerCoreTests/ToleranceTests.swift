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
