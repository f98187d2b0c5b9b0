import PreciseTimer
import TestSupport
import Testing
import TimerKernel

/// A tolerance lets timers share a look, and makes no tick later than it allows.
final class ToleranceTests {
    private var scheduler = PlainScheduler()

    private struct Outcome {
        var looks = 0
        var ticks = 0
        var early = 0
        var tooLate = 0
        var outOfOrder = 0
    }

    @Test func aThousandTimersWithAToleranceShareTheirLooks() {
        let shared = run { _ in 100_000 }
        // Deadlines over 3 ms, each looked at at the next multiple of 2^16 ns.
        #expect(shared.looks <= 3_000_000 / 65_536 + 2)
        #expect(shared.ticks == 1_000)
        let alone = run { _ in 0 }
        #expect(alone.looks > 900, "without a tolerance each deadline has its own look")
    }

    @Test func everyLookIsAfterTheDeadlineAndWithinTheTolerance() {
        let outcome = run { UInt64($0) * UInt64($0) % 200_003 }
        #expect(outcome.ticks == 1_000)
        #expect(outcome.early == 0)
        #expect(outcome.tooLate == 0)
        #expect(outcome.looks < 500)
    }

    @Test func ticksOfOneLookAreInOrderOfDeadlineDespiteTheirTolerances() {
        // Long and short tolerances alternate, so that the order of the looks differs from that of the deadlines.
        let outcome = run { $0 % 2 == 0 ? 200_000 : 1_000 }
        #expect(outcome.outOfOrder == 0)
        #expect(outcome.ticks == 1_000)
    }

    @Test func aToleranceDoesNotMoveTheGrid() {
        let (timer, order) = scheduler.add(every(300, from: 300), tolerance: 100)
        #expect(order == .set(320), "the first multiple of 64")
        #expect(scheduler.firing(at: 320).ticks == [Ticked(timer, 0, 300)])
        #expect(scheduler.nextLook == 640)
        #expect(timer.nextDeadline == 600)
    }

    @Test(arguments: [(0, 1_001), (1, 1_001), (2, 1_002), (3, 1_002), (4, 1_004), (1_023, 1_024), (1_024, 1_024)])
    func theLookIsAMultipleOfTheLargestPowerOfTwoWithinTheTolerance(tolerance: UInt64, look: UInt64) {
        #expect(scheduler.add(once(at: 1_001), tolerance: tolerance).alarm == .set(look))
    }

    @Test func anUnlimitedToleranceStillLeadsToALook() {
        let late = scheduler.add(once(at: (1 << 63) + 1), tolerance: .max)
        #expect(late.alarm == .set((1 << 63) + 1))
        #expect(scheduler.add(once(at: 5), tolerance: .max).alarm == .set(1 << 63))
    }

    @Test func aToleranceDoesNotDelayAnExtraTick() {
        let timer = scheduler.add(every(300, from: 300), tolerance: 250).timer
        #expect(scheduler.fire(timer, at: 100) == .set(100))
        #expect(scheduler.firing(at: 100).ticks == [Ticked(timer, 0, 100, isExtra: true)])
    }

    /// Runs a thousand timers of one deadline each to the end, with a look at each instant of the scheduler.
    private func run(tolerance: (Int) -> UInt64) -> Outcome {
        var (random, outcome) = (SeededGenerator(seed: 11), Outcome())
        var tolerances: [ObjectIdentifier: UInt64] = [:]
        for number in 0..<1_000 {
            let deadline = UInt64.random(in: 1...3_000_000, using: &random)
            let timer = scheduler.add(once(at: deadline), tolerance: tolerance(number)).timer
            tolerances[ObjectIdentifier(timer)] = tolerance(number)
        }
        while let look = scheduler.nextLook {
            let ticks = scheduler.firing(at: look).ticks
            outcome.looks += 1
            outcome.ticks += ticks.count
            for (earlier, later) in zip(ticks, ticks.dropFirst()) where earlier.due.deadline > later.due.deadline {
                outcome.outOfOrder += 1
            }
            for tick in ticks {
                if tick.due.deadline > look { outcome.early += 1 }
                if tick.due.deadline + (tolerances[ObjectIdentifier(tick.timer)] ?? 0) < look { outcome.tooLate += 1 }
            }
        }
        return outcome
    }
}
