import Testing
import TimerCore

/// A grid's deadlines are computed from their step.
struct GridTests {
    private let grid = every(300, from: 300)

    @Test func deadlinesAreTheOriginPlusMultiplesOfThePeriod() {
        #expect(grid.deadline(0)?.nanoseconds == 300)
        #expect(grid.deadline(2)?.nanoseconds == 900)
        #expect(grid.deadline(1_000_000_000)?.nanoseconds == 300_000_000_300)
    }

    @Test func deadlinesTooFarAwayAreNever() {
        #expect(grid.deadline(.max)?.isNever == true)
        #expect(every(2, from: .max - 1).deadline(1)?.isNever == true)
        #expect(every(1, from: 0).deadline(.max)?.isNever == true, "the last step that can be counted")
        #expect(every(1, from: 0).deadline(.max - 1)?.nanoseconds == UInt64.max - 1)
    }

    @Test func theLatestStepIsThatOfTheLatestDeadlineThatHasPassed() {
        #expect(grid.latestStep(at: instant(300)) == 0)
        #expect(grid.latestStep(at: instant(599)) == 0)
        #expect(grid.latestStep(at: instant(600)) == 1)
        #expect(grid.latestStep(at: instant(951)) == 2)
    }

    @Test func aSingleDeadlineHasNoSecond() {
        let single = once(at: 5)
        #expect(single.deadline(0)?.nanoseconds == 5)
        #expect(single.deadline(1) == nil)
        #expect(single.latestStep(at: instant(1_000)) == 0)
        #expect(single.period == nil)
        #expect(single.continued(afterReturnAt: instant(9)) == nil)
    }

    @Test func aGridThatWasRestartedGoesOnOnePeriodLater() {
        let restarted = grid.restarted(at: instant(951))
        #expect(restarted.deadline(restarted.firstStep)?.nanoseconds == 1_251)
        #expect(restarted.period == .nanoseconds(300))
    }

    @Test func aDeadlineAfterTheReturnIsKnownWithTheReturn() throws {
        let delayed = Grid(origin: instant(5), repetition: .afterReturn(10))
        #expect(delayed.deadline(0)?.nanoseconds == 5)
        #expect(delayed.deadline(1) == nil)
        #expect(delayed.latestStep(at: instant(1_000)) == 0, "while it is waited for, none passes")
        #expect(delayed.period == .nanoseconds(10))
        let next = try #require(delayed.continued(afterReturnAt: instant(42)))
        #expect(next.deadline(next.firstStep)?.nanoseconds == 52)
        #expect(grid.continued(afterReturnAt: instant(42)) == nil)
    }
}
