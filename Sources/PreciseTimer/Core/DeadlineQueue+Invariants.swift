/// A check of the queue's invariants.
extension DeadlineQueue where User: ~Copyable {
    /// A description of the first broken invariant, or nil. O(n).
    package var brokenInvariant: String? {
        for position in 0..<elements.count {
            let element = elements[position]
            if position > 0, element.precedes(elements[(position - 1) / 4]) {
                return "the element at \(position) comes before its parent"
            }
            if element.position != position { return "the timer at \(position) has a wrong position" }
        }
        return nil
    }

    /// In debug builds, stops at the mutation that broke an invariant. A small queue is checked completely. Of
    /// a large one only the root and its children are checked, so that a debug build stays usable with a
    /// million timers.
    func checkInvariants() {
        assert(elements.count > 64 ? !rootIsBroken : brokenInvariant == nil, brokenInvariant ?? "the root is broken")
    }

    /// In debug builds, stops if an element that only moves down may have to move up.
    func checkIsLater(_ element: Element, than position: Int) {
        assert(elements[position].nanoseconds <= element.nanoseconds, "a timer is postponed to an earlier instant")
    }

    private var rootIsBroken: Bool {
        guard let root = first else { return false }
        return (1..<min(5, elements.count)).contains { elements[$0].precedes(root) } || root.timer.position != 0
    }
}
