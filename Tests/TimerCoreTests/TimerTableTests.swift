import Testing
import TimerCore

/// Slots are used again, ids never.
struct TimerTableTests {
    @Test func aFreedSlotIsTakenAgainByAnotherGeneration() {
        var table = TimerTable()
        let first = insert(into: &table)
        #expect(table.remove(first) == true)
        let second = insert(into: &table)
        #expect(second.slot == first.slot)
        #expect(second.generation != first.generation)
        #expect(table.capacity == 1)
    }

    @Test func aStaleIDIsANoOp() {
        var table = TimerTable()
        let stale = insert(into: &table)
        #expect(table.remove(stale) == true)
        let tenant = insert(into: &table)
        #expect(table[stale] == nil)
        #expect(table.remove(stale) == false)
        #expect(table[tenant]?.id == tenant)
        #expect(table[tenant.slot]?.id == tenant)
        #expect(table.count == 1)
    }

    @Test func theSlotFreedLastIsTakenFirst() {
        var table = TimerTable()
        let ids = (0..<3).map { _ in insert(into: &table) }
        for id in ids { #expect(table.remove(id) == true) }
        #expect(table.count == 0)
        #expect(insert(into: &table).slot == ids[2].slot)
        #expect(insert(into: &table).slot == ids[1].slot)
        #expect(table[ids[0].slot] == nil)
        #expect(table.capacity == 3)
    }

    @Test func anEntryIsChangedInItsPlace() {
        var table = TimerTable()
        let (first, second) = (insert(into: &table), insert(into: &table))
        table.change(first.slot) { $0.index = 7 }
        #expect(table[first]?.index == 7)
        #expect(table[second]?.index == 0)
    }

    @Test func aTimerIsKnownAfterItsEndUntilItsSlotIsFree() {
        var table = TimerTable()
        let timer = insert(into: &table)
        #expect(table.isLive(timer))
        table.change(timer.slot) { $0.hasEnded = true }
        #expect(table.isLive(timer) == false)
        #expect(table.contains(timer))
        #expect(table.remove(timer) == true)
        #expect(table.contains(timer) == false)
        #expect(table[timer.slot] == nil)
    }

    @Test func anIDOfASlotThatIsNotThereFindsNothing() {
        var large = TimerTable()
        for _ in 0..<5 { _ = insert(into: &large) }
        let far = insert(into: &large)
        var empty = TimerTable()
        #expect(empty[far] == nil)
        #expect(empty.remove(far) == false)
    }

    @Test func everyNumberIsHigherThanAllBefore() {
        var table = TimerTable()
        let before = table.takeNumber()
        let generation = insert(into: &table).generation
        #expect(before < generation)
        #expect(table.takeNumber() > generation)
    }

    private func insert(into table: inout TimerTable) -> TimerID {
        table.insert { TimerEntry(id: $0, grid: once(at: 1), policy: .skip, tolerance: 0, isPaused: false) }
    }
}
