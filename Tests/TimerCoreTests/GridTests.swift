import PreciseTimer
import Testing

/// A grid's deadlines are computed from their step.
struct GridTests {
    private let grid = Grid(300, Period(nanoseconds: 300))

    @Test func deadlinesAreTheOriginPlusMultiplesOfThePeriod() {
        #expect(grid.deadline(0) == 300)
        #expect(grid.deadline(2) == 900)
        #expect(grid.deadline(1_000_000_000) == 300_000_000_300)
    }

    @Test func deadlinesTooFarAwayAreNever() {
        #expect(grid.deadline(.max) == UInt64.max)
        #expect(Grid(.max - 1, Period(nanoseconds: 2)).deadline(1) == UInt64.max)
        let nanosecond = Grid(0, Period(nanoseconds: 1))
        #expect(nanosecond.deadline(.max) == UInt64.max, "the last step that can be counted")
        #expect(nanosecond.deadline(.max - 1) == UInt64.max - 1)
    }

    @Test func theLatestStepIsThatOfTheLatestDeadlineThatHasPassed() {
        #expect(grid.latestStep(at: 300) == 0)
        #expect(grid.latestStep(at: 599) == 0)
        #expect(grid.latestStep(at: 600) == 1)
        #expect(grid.latestStep(at: 951) == 2)
    }
}
