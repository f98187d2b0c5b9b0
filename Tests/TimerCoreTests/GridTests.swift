import PreciseTimer
import Testing
import TimerKernel

/// A grid's deadlines are computed from their step.
struct GridTests {
    private let grid = every(300, from: 300)

    @Test func deadlinesAreTheOriginPlusMultiplesOfThePeriod() {
        #expect(grid.deadline(0) == 300)
        #expect(grid.deadline(2) == 900)
        #expect(grid.deadline(1_000_000_000) == 300_000_000_300)
    }

    @Test func deadlinesTooFarAwayAreNever() {
        #expect(grid.deadline(.max) == UInt64.max)
        #expect(every(2, from: .max - 1).deadline(1) == UInt64.max)
        #expect(every(1, from: 0).deadline(.max) == UInt64.max, "the last step that can be counted")
        #expect(every(1, from: 0).deadline(.max - 1) == UInt64.max - 1)
    }

    @Test func theLatestStepIsThatOfTheLatestDeadlineThatHasPassed() {
        #expect(grid.latestStep(at: 300) == 0)
        #expect(grid.latestStep(at: 599) == 0)
        #expect(grid.latestStep(at: 600) == 1)
        #expect(grid.latestStep(at: 951) == 2)
    }

    @Test func aSingleDeadlineHasNoSecond() {
        let single = once(at: 5)
        #expect(single.deadline(0) == 5)
        #expect(single.deadline(1) == nil)
        #expect(single.latestStep(at: 1_000) == 0)
        #expect(single.period == nil)
    }

    @Test func aRestartedGridContinuesOnePeriodLater() {
        let restarted = grid.restarted(at: 951)
        #expect(restarted.deadline(restarted.firstStep) == 1_251)
        #expect(restarted.period == .nanoseconds(300))
    }

    @Test func aDeadlineAfterTheReturnIsUnknownBeforeIt() {
        let delayed = Grid(origin: 5, repetition: .afterReturn(10))
        #expect(delayed.deadline(0) == 5)
        #expect(delayed.deadline(1) == nil)
        #expect(delayed.latestStep(at: 1_000) == 0, "no deadline passes before the return")
        #expect(delayed.period == .nanoseconds(10))
    }

    @Test func aGridOnDemandHasNoDeadline() {
        #expect([0, 1].map { onDemand.deadline($0) } == [.max, nil] && onDemand.period == nil)
    }
}

/// The order and the number of late ticks with more than one timer or look.
final class LatePolicyTests {
    private var scheduler = PlainScheduler()

    @Test func ticksOfSeveralTimersThatCatchUpComeInOrderOfDeadline() {
        let slow = scheduler.add(every(30, from: 30), policy: .catchUp(limit: 10)).timer
        let fast = scheduler.add(every(20, from: 20), policy: .catchUp(limit: 10)).timer
        let ticks = scheduler.firing(at: 65).ticks
        #expect(ticks.map(\.due.deadline) == [20, 30, 40, 60, 60])
        #expect(ticks.map(\.timer) == [fast, slow, fast, slow, fast], "equal deadlines in order of scheduling")
        #expect(ticks.allSatisfy { $0.due.missed == 0 })
    }

    @Test func theCatchUpLimitAppliesToEachLook() {
        let timer = scheduler.add(every(10, from: 10), policy: .catchUp(limit: 2)).timer
        for look in [100, 200] as [UInt64] {
            let first = look - 90
            #expect(
                scheduler.firing(at: look).ticks == [
                    Ticked(timer, first / 10 - 1, first), Ticked(timer, first / 10, first + 10, missed: 8),
                ]
            )
        }
    }

    @Test func delayRestartsTheGridAtTheLook() {
        let timer = scheduler.add(every(300, from: 300), policy: .delay).timer
        #expect(scheduler.firing(at: 599).ticks == [Ticked(timer, 0, 300)])
        #expect(scheduler.nextLook == 600, "late by less than a period")
        #expect(scheduler.firing(at: 951) == Firing(ticks: [Ticked(timer, 1, 600, missed: 1)], alarm: .set(1_251)))
        #expect(scheduler.firing(at: 1_251).ticks == [Ticked(timer, 3, 1_251)])
    }

    @Test func missedDeadlinesAreCountedWhenTheTickBegins() {
        let timer = scheduler.add(every(100, from: 100)).timer
        #expect(scheduler.take(at: 100) == timer)
        #expect(scheduler.begin(timer, at: 350) == Due(index: 0, deadline: 100, missed: 2))
    }

    @Test func aDelayAfterTheReturnStartsAtTheReturn() {
        let grid = Grid(origin: 100, repetition: .afterReturn(50))
        let timer = scheduler.add(grid, policy: .catchUp(limit: 5)).timer
        #expect(scheduler.take(at: 100) == timer)
        #expect(scheduler.begin(timer, at: 900) == Due(index: 0, deadline: 100, missed: 0))
        #expect(timer.nextDeadline == .max, "it depends on the handler")
        #expect(scheduler.finish(timer, lookedAt: 900, now: 1_000) == .waits(.leave))
        #expect(scheduler.endLook() == .set(1_050))
        #expect(scheduler.firing(at: 1_050).ticks == [Ticked(timer, 1, 1_050)])
    }

    @Test func afterAPortionOfLateTicksOtherDueTimersGetTheirTurn() {
        let (slow, other) = (
            scheduler.add(every(1, from: 1), policy: .catchUp(limit: 1_000)).timer, PlainRecord(Nothing())
        )
        let portion = UInt64(PlainScheduler.portion)
        let first = scheduler.firing(at: 200) { scheduler, ticked in
            if ticked.due.index == 0 { _ = scheduler.add(other, on: once(at: 2)) }
        }
        #expect(first.ticks == (0...portion).map { Ticked(slow, $0, $0 + 1) })
        #expect(first.alarm == .set(2), "at once")
        let second = scheduler.firing(at: 200).ticks
        #expect(second.prefix(2) == [Ticked(other, 0, 2), Ticked(slow, portion + 1, portion + 2)])
        #expect(second.count == 2 + PlainScheduler.portion)
    }
}
