/// The queue's invariants, as a check.
extension DeadlineQueue {
    /// What is wrong with the queue, or nil. O(n).
    package var brokenInvariant: String? {
        for (position, element) in elements.enumerated() {
            if position > 0, element.precedes(elements[(position - 1) / 4]) {
                return "the element at \(position) comes before its parent"
            }
            if positions[element.slot.position] != Int32(position) {
                return "slot \(element.slot.number) does not know that it stands at \(position)"
            }
        }
        let present = positions.count { $0 != Self.absent }
        return present == elements.count ? nil : "\(present) slots have a position, \(elements.count) have an element"
    }

    /// In debug builds, stops at the mutation that broke an invariant. Whole small queues are checked; of a large one
    /// only the root and its children, so that a debug build stays usable with a million timers.
    func checkInvariants() {
        assert(elements.count > 64 ? !rootIsBroken : brokenInvariant == nil, brokenInvariant ?? "the root is broken")
    }

    private var rootIsBroken: Bool {
        guard let root = elements.first else { return false }
        return elements[1..<min(5, elements.count)].contains { $0.precedes(root) }
            || positions[root.slot.position] != 0
    }
}
