import TestSupport
import Testing
import TimerCore

/// A tolerance lets timers share a look, and makes no tick later than it allows.
struct ToleranceTests {
    private struct Outcome {
        var looks = 0
        var ticks = 0
        var early = 0
        var tooLate = 0
        var outOfOrder = 0
    }

    @Test func aThousandTimersWithAToleranceShareTheirLooks() {
        let shared = run { _ in 100_000 }
        // Deadlines of 3 ms, looked at at the multiples of 2^16 ns that they reach.
        #expect(shared.looks <= 3_000_000 / 65_536 + 2)
        #expect(shared.ticks == 1_000)
        let alone = run { _ in 0 }
        #expect(alone.looks > 900, "what they would cost without")
    }

    @Test func noLookIsBeforeTheDeadlineOrBeyondTheTolerance() {
        let outcome = run { UInt64($0) * UInt64($0) % 200_003 }
        #expect(outcome.ticks == 1_000)
        #expect(outcome.early == 0)
        #expect(outcome.tooLate == 0)
        #expect(outcome.looks < 500)
    }

    @Test func ticksOfOneLookAreInOrderOfDeadlineDespiteTheirTolerances() {
        // Long and short tolerances in turn, so that the order of the looks is not that of the deadlines.
        let outcome = run { $0 % 2 == 0 ? 200_000 : 1_000 }
        #expect(outcome.outOfOrder == 0)
        #expect(outcome.ticks == 1_000)
    }

    @Test func aToleranceDoesNotMoveTheGrid() {
        var scheduler = Scheduler()
        let (timer, order) = scheduler.add(every(300, from: 300), tolerance: 100)
        #expect(order == .set(instant(320)), "the first multiple of 64")
        #expect(scheduler.firing(at: 320).ticks == [Ticked(timer, 0, 300)])
        #expect(scheduler.nextLook == instant(640))
        #expect(scheduler[timer]?.nextDeadline == instant(600))
    }

    @Test(arguments: [(0, 1_001), (1, 1_001), (2, 1_002), (3, 1_002), (4, 1_004), (1_023, 1_024), (1_024, 1_024)])
    func theLookIsTheFirstMultipleOfTheLargestPowerOfTwoWithin(tolerance: UInt64, look: UInt64) {
        #expect(instant(1_001).roundedUp(within: tolerance).nanoseconds == look)
    }

    @Test func aToleranceWithoutAnEndDoesNotMakeALookNever() {
        #expect(instant(5).roundedUp(within: .max).nanoseconds == 1 << 63)
        let late = instant((1 << 63) + 1)
        #expect(late.roundedUp(within: .max) == late)
    }

    @Test func anExtraTickIsNotHeldBackByATolerance() {
        var scheduler = Scheduler()
        let timer = scheduler.add(every(300, from: 300), tolerance: 250).timer
        #expect(scheduler.fire(timer, at: instant(100)) == .set(instant(100)))
        #expect(scheduler.firing(at: 100).ticks == [Ticked(timer, 0, 100)])
    }

    /// A thousand timers of one deadline each, run to the end by looking when it is to be looked.
    private func run(tolerance: (Int) -> UInt64) -> Outcome {
        var (scheduler, random, outcome) = (Scheduler(), SeededGenerator(seed: 11), Outcome())
        var tolerances: [TimerID: UInt64] = [:]
        for number in 0..<1_000 {
            let deadline = UInt64.random(in: 1...3_000_000, using: &random)
            let timer = scheduler.add(once(at: deadline), tolerance: tolerance(number)).timer
            tolerances[timer] = tolerance(number)
        }
        while let look = scheduler.nextLook {
            let ticks = scheduler.firing(at: look.nanoseconds).ticks
            outcome.looks += 1
            outcome.ticks += ticks.count
            for (earlier, later) in zip(ticks, ticks.dropFirst()) where earlier.due.deadline > later.due.deadline {
                outcome.outOfOrder += 1
            }
            for tick in ticks {
                if tick.due.deadline > look { outcome.early += 1 }
                if tick.due.deadline.moved(by: tolerances[tick.timer, default: 0]) < look { outcome.tooLate += 1 }
            }
        }
        return outcome
    }
}
