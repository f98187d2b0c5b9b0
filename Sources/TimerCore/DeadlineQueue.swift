/// The pending deadlines, the earliest first: a 4-ary min-heap that knows where each slot's deadline stands.
///
/// Ordered by (deadline, sequence): of equal deadlines the one scheduled first comes first. Four children to a node
/// halve the depth of a binary heap, and lie side by side (after D. B. Johnson, "Priority queues with update and
/// finding minimum spanning trees", 1975). One array of positions by slot makes removal and moving logarithmic, so
/// that nothing dead ever waits in the queue.
///
/// Invariants, checked after every mutation in debug builds (see DeadlineQueue+Invariants.swift): no element comes
/// before its parent; and a slot's position is that of its element, or absent where the queue has none.
package struct DeadlineQueue: Sendable {
    /// One pending deadline.
    package struct Element: Hashable, Sendable {
        /// When it is due, in nanoseconds on the queue's one clock.
        package let nanoseconds: UInt64
        /// The order of scheduling, which decides between equal deadlines.
        package let sequence: UInt64
        /// Whose deadline it is.
        package let slot: Slot

        /// A slot's deadline.
        package init(nanoseconds: UInt64, sequence: UInt64, slot: Slot) {
            self.nanoseconds = nanoseconds
            self.sequence = sequence
            self.slot = slot
        }

        /// Whether this element leaves the queue before another.
        package func precedes(_ other: Element) -> Bool {
            nanoseconds != other.nanoseconds ? nanoseconds < other.nanoseconds : sequence < other.sequence
        }
    }

    /// The heap: the children of position i are 4i + 1 … 4i + 4.
    var elements: [Element] = []
    /// By slot: where its element stands in the heap, or `absent`.
    var positions: [Int32] = []

    /// The position of a slot that has no element.
    static let absent: Int32 = -1

    package init() {}

    /// How many deadlines are pending.
    package var count: Int { elements.count }

    /// The earliest deadline. Constant time.
    package var first: Element? { elements.first }

    /// Whether a slot has a deadline here. Constant time.
    package func contains(_ slot: Slot) -> Bool { position(of: slot) != nil }

    /// Queues a slot's deadline; the slot must have none here. O(log n).
    package mutating func push(_ slot: Slot, at nanoseconds: UInt64, sequence: UInt64) {
        assert(!contains(slot), "a slot has at most one deadline")
        while positions.count <= slot.position { positions.append(Self.absent) }
        let element = Element(nanoseconds: nanoseconds, sequence: sequence, slot: slot)
        elements.append(element)
        siftUp(element, from: elements.count - 1)
        checkInvariants()
    }

    /// Takes the earliest deadline out. O(log n).
    package mutating func popFirst() -> Element? {
        guard let first else { return nil }
        _ = remove(first.slot)
        return first
    }

    /// Takes a slot's deadline out; false where it has none. O(log n).
    package mutating func remove(_ slot: Slot) -> Bool {
        guard let hole = position(of: slot) else { return false }
        positions[slot.position] = Self.absent
        let last = elements.removeLast()
        if hole < elements.count { settle(last, from: hole) }
        checkInvariants()
        return true
    }

    /// Moves a slot's deadline, to a later or an earlier instant; false where it has none. O(log n).
    package mutating func move(_ slot: Slot, to nanoseconds: UInt64, sequence: UInt64) -> Bool {
        guard let position = position(of: slot) else { return false }
        settle(Element(nanoseconds: nanoseconds, sequence: sequence, slot: slot), from: position)
        checkInvariants()
        return true
    }

    private func position(of slot: Slot) -> Int? {
        guard slot.position < positions.count else { return nil }
        let position = positions[slot.position]
        return position == Self.absent ? nil : Int(position)
    }

    /// Puts an element where it belongs, starting at a position that is free for it.
    private mutating func settle(_ element: Element, from position: Int) {
        if position > 0, element.precedes(elements[(position - 1) / 4]) {
            siftUp(element, from: position)
        } else {
            siftDown(element, from: position)
        }
    }

    private mutating func siftUp(_ element: Element, from start: Int) {
        var position = start
        while position > 0 {
            let parent = (position - 1) / 4
            guard element.precedes(elements[parent]) else { break }
            place(elements[parent], at: position)
            position = parent
        }
        place(element, at: position)
    }

    private mutating func siftDown(_ element: Element, from start: Int) {
        var position = start
        while true {
            let firstChild = 4 * position + 1
            guard firstChild < elements.count else { break }
            var earliest = firstChild
            for child in firstChild + 1..<min(firstChild + 4, elements.count)
            where elements[child].precedes(elements[earliest]) {
                earliest = child
            }
            guard elements[earliest].precedes(element) else { break }
            place(elements[earliest], at: position)
            position = earliest
        }
        place(element, at: position)
    }

    private mutating func place(_ element: Element, at position: Int) {
        elements[position] = element
        positions[element.slot.position] = Int32(position)
    }
}
