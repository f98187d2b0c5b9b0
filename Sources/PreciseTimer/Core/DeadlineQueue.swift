/// Timers ordered by instant, the earliest first: a 4-ary min-heap that tells each timer its position.
///
/// The order is (instant, sequence): of two equal instants, the one that was scheduled first comes first. Nodes of
/// four children halve the depth of a binary heap, and the children lie side by side (after D. B. Johnson, "Priority
/// queues with update and finding minimum spanning trees", 1975). Each timer knows its position in the heap, so
/// removal takes logarithmic time and no cancelled timer stays in the queue.
///
/// A timer is in at most one queue. Two invariants hold: no element comes before its parent, and a timer's position is
/// that of its element.
package struct DeadlineQueue: ~Copyable {
    /// A timer at an instant. It does not retain the timer: the owner of the queue must.
    @safe struct Element: BitwiseCopyable {
        /// The timer's place in the order, in nanoseconds on the queue's clock. It leaves the queue then, or later.
        let nanoseconds: UInt64
        /// The order of scheduling, which decides between equal instants.
        let sequence: UInt64
        private let reference: Unmanaged<TimerRecord>

        init(_ timer: TimerRecord, at nanoseconds: UInt64) {
            self.nanoseconds = nanoseconds
            sequence = timer.sequence
            unsafe reference = .passUnretained(timer)
        }

        var timer: TimerRecord { unsafe reference.takeUnretainedValue() }

        /// Whether this element comes before another.
        @inline(__always) func precedes(_ other: Element) -> Bool {
            // One comparison of 128-bit numbers avoids a branch that the processor may predict wrongly.
            UInt128(nanoseconds) << 64 | UInt128(sequence) < UInt128(other.nanoseconds) << 64 | UInt128(other.sequence)
        }

        /// The timer's position in the queue, which it is told without counting a reference.
        var position: Int {
            get { unsafe reference._withUnsafeGuaranteedRef { Int($0.position) } }
            nonmutating set {
                unsafe reference._withUnsafeGuaranteedRef { $0.position = Int32(truncatingIfNeeded: newValue) }
            }
        }
    }

    /// The heap: the children of position i are 4i + 1 … 4i + 4.
    var elements = Segments<Element>()

    package init() {}

    /// The number of timers in the queue.
    package var count: Int { elements.count }

    /// The earliest instant, or `.max` if the queue is empty. Constant time.
    package var firstInstant: UInt64 { elements.count > 0 ? elements[0].nanoseconds : .max }

    /// The earliest element, or nil if the queue is empty. Constant time.
    var first: Element? { elements.count > 0 ? elements[0] : nil }

    /// Whether one of the timers whose place is at or before an instant has a property. O(n) for n of them.
    func contains(by instant: UInt64, from top: Int = 0, where has: (TimerRecord) -> Bool) -> Bool {
        guard top < elements.count, elements[top].nanoseconds <= instant else { return false }
        return has(elements[top].timer) || (1...4).contains { contains(by: instant, from: 4 * top + $0, where: has) }
    }

    /// Queues a timer, which must be in no queue. O(log n).
    @inline(__always) package mutating func push(_ timer: TimerRecord, at nanoseconds: UInt64) {
        assert(timer.position < 0, "a timer is in one queue at most")
        let element = Element(timer, at: nanoseconds)
        elements.append(element)
        siftUp(element, from: elements.count &- 1)
    }

    /// Removes a timer, which must be in this queue. O(log n).
    package mutating func remove(_ timer: TimerRecord) {
        let hole = Int(timer.position)
        assert(elements[hole].timer === timer, "the timer is in this queue")
        timer.position = -1
        let last = elements[elements.count &- 1]
        elements.removeLast()
        if hole < elements.count {
            if hole > 0, last.precedes(elements[(hole - 1) / 4]) {
                siftUp(last, from: hole)
            } else {
                siftDown(last, from: hole)
            }
        }
    }

    /// Moves a timer of this queue to its new instant and sequence, which are later: one way down from its
    /// position, which is the first one if the round called the timer. O(log n).
    package mutating func postpone(_ timer: TimerRecord, to nanoseconds: UInt64) {
        let element = Element(timer, at: nanoseconds)
        assert(elements[Int(timer.position)].nanoseconds <= nanoseconds, "a timer is postponed to an earlier instant")
        siftDown(element, from: Int(timer.position))
    }

    /// Moves a timer of this queue to an earlier instant. A later instant changes nothing: the timer comes out too
    /// early and is then queued again, so postponing a deadline again and again costs nothing. O(log n).
    package mutating func hasten(_ timer: TimerRecord, to nanoseconds: UInt64) {
        let element = Element(timer, at: nanoseconds)
        guard element.precedes(elements[Int(timer.position)]) else { return }
        siftUp(element, from: Int(timer.position))
    }

    private mutating func siftUp(_ element: Element, from start: Int) {
        var position = start
        while position > 0 {
            let parent = (position - 1) / 4
            let other = elements[parent]
            guard element.precedes(other) else { break }
            move(other, to: position)
            position = parent
        }
        move(element, to: position)
    }

    private mutating func siftDown(_ element: Element, from start: Int) {
        var position = start
        var hole = unsafe elements[addressOf: start]
        while true {
            let firstChild = 4 * position + 1
            let count = elements.count - firstChild
            if count <= 0 { break }
            let children = unsafe elements[addressOf: firstChild]
            var earliest = 0
            if count >= 4 {
                let left = unsafe children[1].precedes(children[0]) ? 1 : 0
                let right = unsafe children[3].precedes(children[2]) ? 3 : 2
                earliest = unsafe children[right].precedes(children[left]) ? right : left
            } else {
                for child in 1..<count where unsafe children[child].precedes(children[earliest]) { earliest = child }
            }
            guard unsafe children[earliest].precedes(element) else { break }
            unsafe hole.pointee = children[earliest]
            unsafe hole.pointee.position = position
            position = firstChild + earliest
            unsafe hole = children + earliest
        }
        unsafe hole.pointee = element
        element.position = position
    }

    @inline(__always) private mutating func move(_ element: Element, to position: Int) {
        elements[position] = element
        element.position = position
    }
}

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
