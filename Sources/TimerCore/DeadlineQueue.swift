/// Timers by instant, the earliest first: a 4-ary min-heap that knows where each timer stands.
///
/// Ordered by (instant, sequence): of equal instants the one scheduled first comes first. Four children to a node
/// halve the depth of a binary heap, and lie side by side (after D. B. Johnson, "Priority queues with update and
/// finding minimum spanning trees", 1975). Each timer has its position in the heap, so removal takes logarithmic time
/// and nothing dead ever waits in the queue.
///
/// A timer is in one queue at most. Invariants, checked after every mutation in debug builds (see
/// DeadlineQueue+Invariants.swift): no element comes before its parent; and a timer's position is that of its element.
package struct DeadlineQueue: ~Copyable {
    /// A timer at an instant. It does not retain the timer: who uses a queue holds what is in it.
    @safe
    struct Element: BitwiseCopyable {
        /// When it comes out, in nanoseconds on the queue's one clock.
        let nanoseconds: UInt64
        /// The order of scheduling, which decides between equal instants.
        let sequence: UInt64
        private let reference: Unmanaged<TimerEntry>

        init(_ timer: TimerEntry, at nanoseconds: UInt64) {
            self.nanoseconds = nanoseconds
            sequence = timer.sequence
            unsafe reference = .passUnretained(timer)
        }

        /// Whose instant it is.
        var timer: TimerEntry { unsafe reference.takeUnretainedValue() }

        /// Whether this element leaves the queue before another.
        @inline(__always)
        func precedes(_ other: Element) -> Bool {
            // As one number, which takes no branch that could be guessed wrong.
            UInt128(nanoseconds) << 64 | UInt128(sequence) < UInt128(other.nanoseconds) << 64 | UInt128(other.sequence)
        }

        /// Tells the timer where it stands, without the price of a reference.
        @inline(__always)
        func note(_ position: Int) { unsafe reference._withUnsafeGuaranteedRef { $0.position = Int32(position) } }
    }

    /// The heap: the children of position i are 4i + 1 … 4i + 4.
    var elements = Segments<Element>()

    package init() {}

    /// How many timers are in the queue.
    package var count: Int { elements.count }

    /// The earliest instant; never if the queue is empty. Constant time.
    package var firstInstant: UInt64 { elements.count > 0 ? elements[0].nanoseconds : .max }

    /// What comes out first. Constant time.
    var first: Element? { elements.count > 0 ? elements[0] : nil }

    /// Queues a timer, which must be in no queue. O(log n).
    package mutating func push(_ timer: TimerEntry, at nanoseconds: UInt64) {
        assert(timer.position < 0, "a timer is in one queue at most")
        let element = Element(timer, at: nanoseconds)
        elements.append(element)
        siftUp(element, from: elements.count - 1)
        checkInvariants()
    }

    /// Takes a timer of this queue out. O(log n).
    package mutating func remove(_ timer: TimerEntry) {
        let hole = Int(timer.position)
        assert(elements[hole].timer === timer, "the timer is in this queue")
        timer.position = -1
        let last = elements[elements.count - 1]
        elements.removeLast()
        if hole < elements.count {
            if hole > 0, last.precedes(elements[(hole - 1) / 4]) {
                siftUp(last, from: hole)
            } else {
                siftDown(last, from: hole)
            }
        }
        checkInvariants()
    }

    /// Moves a timer of this queue to an earlier instant. To a later one it is not moved: it comes out too early and is
    /// queued again then. So a deadline that is postponed over and over costs nothing. O(log n).
    package mutating func hasten(_ timer: TimerEntry, to nanoseconds: UInt64) {
        let element = Element(timer, at: nanoseconds)
        guard element.precedes(elements[Int(timer.position)]) else { return }
        siftUp(element, from: Int(timer.position))
        checkInvariants()
    }

    private mutating func siftUp(_ element: Element, from start: Int) {
        var position = start
        while position > 0 {
            let parent = (position - 1) / 4
            let other = elements[parent]
            guard element.precedes(other) else { break }
            place(other, at: position)
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
            var child = elements[firstChild]
            for position in firstChild + 1..<min(firstChild + 4, elements.count) {
                let other = elements[position]
                if other.precedes(child) { (earliest, child) = (position, other) }
            }
            guard child.precedes(element) else { break }
            place(child, at: position)
            position = earliest
        }
        place(element, at: position)
    }

    @inline(__always)
    private mutating func place(_ element: Element, at position: Int) {
        elements[position] = element
        element.note(position)
    }
}
