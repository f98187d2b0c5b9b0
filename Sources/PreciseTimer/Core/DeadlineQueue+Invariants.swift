/// A check of the queue's invariants, for the scheduler and for tests.
extension DeadlineQueue {
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
}
