/// Where a timer's entry lives; taken over by another timer once this one is forgotten.
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

/// The timers by slot. Every operation takes constant time.
package struct TimerTable: Sendable {
    /// By slot; a free slot has the entry of its last tenant, forgotten.
    private var entries: [TimerEntry] = []
    /// The free slots, the last freed on top: it is the one most likely still in the cache.
    private var free: [Slot] = []
    /// The next number.
    private var nextNumber: UInt64 = 0

    package init() {}

    /// How many slots there are, free ones included: every slot's position is below.
    package var capacity: Int { entries.count }

    /// How many slots are taken.
    package var count: Int { entries.count - free.count }

    /// A number that is higher than all before: it tells generations apart, and orders equal deadlines.
    package mutating func takeNumber() -> UInt64 {
        defer { nextNumber += 1 }
        return nextNumber
    }

    /// Takes a slot for a timer, whose entry is made from its id.
    package mutating func insert(_ makeEntry: (TimerID) -> TimerEntry) -> TimerID {
        let slot = free.popLast() ?? Slot(entries.count)
        let entry = makeEntry(TimerID(slot: slot, generation: takeNumber()))
        if slot.position == entries.count {
            entries.append(entry)
        } else {
            entries[slot.position] = entry
        }
        return entry.id
    }

    /// Whether the timer is known.
    package func contains(_ id: TimerID) -> Bool {
        id.slot.position < entries.count && entries[id.slot.position].id == id
            && !entries[id.slot.position].isForgotten
    }

    /// Whether the timer has not ended.
    package func isLive(_ id: TimerID) -> Bool { contains(id) && !entries[id.slot.position].hasEnded }

    /// The timer's entry, or nil where the timer is forgotten.
    package subscript(id: TimerID) -> TimerEntry? { contains(id) ? entries[id.slot.position] : nil }

    /// The entry of a slot's tenant, or nil where the slot is free.
    package subscript(slot: Slot) -> TimerEntry? {
        entries[slot.position].isForgotten ? nil : entries[slot.position]
    }

    /// Changes the entry of a slot's tenant, in its place.
    package mutating func change<Result>(_ slot: Slot, _ body: (inout TimerEntry) -> Result) -> Result {
        assert(!entries[slot.position].isForgotten, "the slot is free")
        return body(&entries[slot.position])
    }

    /// Frees the timer's slot; false where that was done already.
    package mutating func remove(_ id: TimerID) -> Bool {
        guard contains(id) else { return false }
        entries[id.slot.position].isForgotten = true
        free.append(id.slot)
        return true
    }
}
