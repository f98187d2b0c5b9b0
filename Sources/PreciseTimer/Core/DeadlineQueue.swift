/// Timers ordered by the last instant at which each may come out, the earliest first: a 4-ary min-heap that tells each
/// timer its position.
///
/// The order is (instant, sequence): of two equal instants, the one that was scheduled first comes first. A timer that
/// was postponed may stand too early, and is moved when it comes out.
/// Nodes of four children halve the depth of a binary heap, and the children lie side by side (after D. B. Johnson,
/// "Priority queues with update and finding minimum spanning trees", 1975). Each timer knows its position in the heap,
/// so removal takes logarithmic time and no cancelled timer stays in the queue.
///
/// Two invariants hold: no element comes before its parent, and a timer's position is that of its element.
package struct DeadlineQueue: ~Copyable {
    /// A timer's place in the order. It does not retain the timer: the owner of the queue must.
    @safe package struct Element: BitwiseCopyable {
        /// In nanoseconds on the queue's clock.
        let nanoseconds: UInt64
        /// Decides between equal instants: the timer's number when it was queued.
        let sequence: UInt64
        private let reference: Unmanaged<TimerRecord>

        @inline(__always) package init(_ timer: TimerRecord, at nanoseconds: UInt64) {
            (self.nanoseconds, sequence) = (nanoseconds, timer.sequence)
            unsafe reference = .passUnretained(timer)
        }

        var timer: TimerRecord { unsafe reference.takeUnretainedValue() }

        /// Whether this element comes before another.
        @inline(__always) func precedes(_ other: Element) -> Bool {
            // One comparison of 128-bit numbers avoids a branch that the processor may predict wrongly.
            UInt128(nanoseconds) << 64 | UInt128(sequence) < UInt128(other.nanoseconds) << 64 | UInt128(other.sequence)
        }

        /// The timer's position in the queue, which it gets without counting a reference.
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

    /// The first element, or nil if the queue is empty. Constant time.
    var first: Element? { elements.count > 0 ? elements[0] : nil }

    /// A timer's element. Constant time.
    func element(of timer: TimerRecord) -> Element { elements[Int(timer.position)] }

    /// Calls a body with the first element, and with those below each one for which it returns true.
    func visit(from top: Int = 0, _ body: (Element) -> Bool) {
        guard top < elements.count, body(elements[top]) else { return }
        for child in 1...4 { visit(from: 4 * top + child, body) }
    }

    /// Queues a timer, which must be in no queue. O(log n).
    @inline(__always) package mutating func push(_ element: Element) {
        assert(element.position < 0, "a timer is in the queue once")
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
        if hole < elements.count { put(last, at: hole) }
    }

    /// Moves a timer of this queue to another place. O(log n).
    @inline(__always) package mutating func move(to element: Element) { put(element, at: element.position) }

    /// Moves a timer of this queue to an earlier place. A later one changes nothing: the timer comes out too early and
    /// is then moved, so postponing a deadline again and again costs nothing. O(log n).
    package mutating func hasten(to element: Element) {
        let position = element.position
        if element.precedes(elements[position]) { siftUp(element, from: position) }
    }

    /// Fills a position, whose element is gone or out of order.
    @inline(__always) private mutating func put(_ element: Element, at position: Int) {
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
