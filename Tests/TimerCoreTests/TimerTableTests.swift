import Testing
import TimerCore

/// Slots are used again, ids never.
struct TimerTableTests {
    private let grid = Grid(start: TimerInstant(nanoseconds: 1))

    @Test func aFreedSlotIsTakenAgainByAnotherGeneration() {
        var table = TimerTable()
        let first = table.insert(grid)
        #expect(table.remove(first) == true)
        let second = table.insert(grid)
        #expect(second.slot == first.slot)
        #expect(second.generation != first.generation)
        #expect(table.capacity == 1)
    }

    @Test func aStaleIDIsANoOp() {
        var table = TimerTable()
        let stale = table.insert(grid)
        #expect(table.remove(stale) == true)
        let tenant = table.insert(grid)
        #expect(table[stale] == nil)
        #expect(table.remove(stale) == false)
        #expect(table.replaceGrid(of: stale, with: Grid(start: TimerInstant(nanoseconds: 9))) == false)
        #expect(table[tenant]?.grid == grid)
        #expect(table.count == 1)
    }

    @Test func idsStayStaleWhenEverythingWasRemoved() {
        var table = TimerTable()
        let stale = table.insert(grid)
        table.removeAll()
        let tenant = table.insert(grid)
        #expect(tenant.slot == stale.slot)
        #expect(table[stale] == nil)
    }

    @Test func anIDOfASlotThatIsNotThereFindsNothing() {
        var large = TimerTable()
        for _ in 0..<5 { _ = large.insert(grid) }
        let far = large.insert(grid)
        #expect(TimerTable()[far] == nil)
    }
}
