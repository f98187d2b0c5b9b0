/// Where a timer's entry lives; taken over by another timer once this one has ended.
package struct Slot: Hashable, Sendable {
    package let number: Int32

    package init(_ number: Int) { self.number = Int32(number) }

    /// The slot as an array's position.
    package var position: Int { Int(number) }
}

/// Which timer is meant: a slot and its tenant. The generation is never used twice, so a stale id finds nothing.
package struct TimerID: Hashable, Sendable {
    package let slot: Slot
    package let generation: UInt64
}

/// The timers that have not ended, by slot. Every operation takes constant time.
package struct TimerTable: Sendable {
    /// One timer: what of its grid is still to come.
    package struct Entry: Hashable, Sendable {
        /// Which tenant of the slot this is; also the timer's place in the order of scheduling.
        package let generation: UInt64
        /// The timer's deadlines.
        package var grid: Grid
        /// The number of the oldest deadline that has had no tick.
        package var nextIndex: UInt64 = 0
    }

    /// An entry, or nil for a free slot.
    private var entries: [Entry?] = []
    /// The free slots, the last freed on top: it is the one most likely still in the cache.
    private var free: [Slot] = []
    /// The generation of the next timer.
    private var nextGeneration: UInt64 = 0

    package init() {}

    /// How many timers there are.
    package var count: Int { entries.count - free.count }

    /// How many slots there are, free ones included: every slot's position is below.
    package var capacity: Int { entries.count }

    /// Takes a slot for a timer.
    package mutating func insert(_ grid: Grid) -> TimerID {
        let entry = Entry(generation: nextGeneration, grid: grid)
        nextGeneration += 1
        let slot: Slot
        if let freed = free.popLast() {
            slot = freed
            entries[slot.position] = entry
        } else {
            slot = Slot(entries.count)
            entries.append(entry)
        }
        return TimerID(slot: slot, generation: entry.generation)
    }

    /// The timer's entry, or nil where the timer has ended.
    package subscript(id: TimerID) -> Entry? {
        guard id.slot.position < entries.count, let entry = entries[id.slot.position],
            entry.generation == id.generation
        else { return nil }
        return entry
    }

    /// The entry of a slot's tenant, or nil where the slot is free.
    package subscript(slot: Slot) -> Entry? { entries[slot.position] }

    /// Notes how far a slot's tenant has come.
    package mutating func update(_ slot: Slot, nextIndex: UInt64) {
        entries[slot.position]?.nextIndex = nextIndex
    }

    /// Gives the timer another grid, from its first deadline on; false where the timer has ended.
    package mutating func replaceGrid(of id: TimerID, with grid: Grid) -> Bool {
        guard self[id] != nil else { return false }
        entries[id.slot.position]?.grid = grid
        entries[id.slot.position]?.nextIndex = 0
        return true
    }

    /// Frees the timer's slot; false where the timer has ended already.
    package mutating func remove(_ id: TimerID) -> Bool {
        guard self[id] != nil else { return false }
        entries[id.slot.position] = nil
        free.append(id.slot)
        return true
    }

    /// Frees all slots, without ever using a generation again.
    package mutating func removeAll() {
        entries.removeAll()
        free.removeAll()
    }
}
