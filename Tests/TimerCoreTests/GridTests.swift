import Testing
import TimerCore

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
