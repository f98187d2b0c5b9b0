import Testing
import TimerCore

/// A grid's deadlines are computed from their number.
struct GridTests {
    private let grid = Grid(start: TimerInstant(nanoseconds: 300), period: 300)

    @Test func deadlinesAreStartPlusMultiplesOfThePeriod() {
        #expect(grid.deadline(0)?.nanoseconds == 300)
        #expect(grid.deadline(2)?.nanoseconds == 900)
        #expect(grid.deadline(1_000_000_000)?.nanoseconds == 300_000_000_300)
    }

    @Test func deadlinesTooFarAwayAreNever() {
        #expect(grid.deadline(.max)?.isNever == true)
        #expect(Grid(start: TimerInstant(nanoseconds: .max - 1), period: 2).deadline(1)?.isNever == true)
    }

    @Test func theLatestIndexIsThatOfTheLatestDeadlineThatHasPassed() {
        #expect(grid.latestIndex(at: TimerInstant(nanoseconds: 300)) == 0)
        #expect(grid.latestIndex(at: TimerInstant(nanoseconds: 599)) == 0)
        #expect(grid.latestIndex(at: TimerInstant(nanoseconds: 600)) == 1)
        #expect(grid.latestIndex(at: TimerInstant(nanoseconds: 951)) == 2)
    }

    @Test func aSingleDeadlineHasNoSecond() {
        let once = Grid(start: TimerInstant(nanoseconds: 5))
        #expect(once.deadline(0)?.nanoseconds == 5)
        #expect(once.deadline(1) == nil)
        #expect(once.latestIndex(at: TimerInstant(nanoseconds: 1_000)) == 0)
    }
}
