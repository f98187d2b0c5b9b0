/// All timers that have not ended, in no particular order. Of the scheduler's parts, only this list retains them.
///
/// The list may change while a caller iterates from its end to its beginning. The caller still meets every timer
/// that stays in the list, because the last timer takes the position of a removed one.
///
/// After a shutdown, the service's timers are the first in the list until each of them has been ended. The service
/// may have been started again by then; its newer timers come after them and keep ticking.
@safe struct TimerList: ~Copyable {
    @safe private struct Element: BitwiseCopyable { let reference: Unmanaged<TimerRecord> }

    private var elements = Segments<Element>()
    /// How many timers, from the beginning of the list, must still be ended.
    private(set) var closing: Int32 = 0

    init() {}

    deinit { for position in 0..<elements.count { unsafe elements[position].reference.release() } }

    /// The number of timers.
    var count: Int { elements.count }

    /// The timer at a position. Constant time.
    subscript(position: Int) -> TimerRecord { unsafe elements[position].reference.takeUnretainedValue() }

    /// Adds a timer. Constant time.
    mutating func append(_ timer: TimerRecord) {
        timer.listPosition = Int32(truncatingIfNeeded: elements.count)
        unsafe elements.append(Element(reference: .passRetained(timer)))
    }

    /// Removes a timer, and returns it with the list's reference. Constant time.
    @discardableResult mutating func remove(_ timer: TimerRecord) -> TimerRecord {
        var hole = Int(timer.listPosition)
        let element = elements[hole]
        if mustEnd(timer) {
            closing -= 1
            move(Int(closing), to: hole)
            hole = Int(closing)
        }
        // A timer that was moved already is not moved again.
        if hole != elements.count &- 1 { move(elements.count &- 1, to: hole) }
        elements.removeLast()
        timer.listPosition = -1
        return unsafe element.reference.takeRetainedValue()
    }

    /// Marks all current timers as timers that must be ended.
    mutating func close() { closing = Int32(truncatingIfNeeded: elements.count) }

    /// Whether a timer of the list must be ended.
    func mustEnd(_ timer: TimerRecord) -> Bool { timer.listPosition < closing }

    /// Whether there are timers besides those that must be ended.
    var hasOpen: Bool { closing < elements.count }

    private mutating func move(_ source: Int, to hole: Int) {
        elements[hole] = elements[source]
        unsafe elements[hole].reference._withUnsafeGuaranteedRef { $0.listPosition = Int32(truncatingIfNeeded: hole) }
    }
}

/// Timers outside the queue, in no particular order: those that wait for the next round, or those that are in their
/// handlers, also if they have ended since. They are not retained: the list holds them, or the code that calls the
/// handler. Only the instants of running timers are read, and only the deferred ones are marked.
///
/// The group may change while a caller iterates from its end to its beginning, as with ``TimerList``.
struct TimerGroup: ~Copyable {
    /// Each timer at an instant.
    private var elements = Segments<DeadlineQueue.Element>()
    /// How many timers, from the beginning of the group, are marked.
    private(set) var mark: Int32 = 0

    /// The number of timers.
    var count: Int { elements.count }

    /// The timer at a position. Constant time.
    subscript(position: Int) -> TimerRecord { elements[position].timer }

    /// The instant with which a timer was added. Constant time.
    func instant(of timer: TimerRecord) -> UInt64 { elements[Int(timer.position)].nanoseconds }

    /// Marks all current timers.
    mutating func markAll() { mark = Int32(truncatingIfNeeded: elements.count) }

    /// Adds a timer, which is in no queue and in no other group. Constant time.
    mutating func append(_ timer: TimerRecord, at nanoseconds: UInt64) {
        assert(timer.position < 0, "a timer is in one place")
        timer.position = Int32(truncatingIfNeeded: elements.count)
        elements.append(DeadlineQueue.Element(timer, at: nanoseconds))
    }

    /// Removes a timer. Constant time.
    // Not inlined: few timers are in a group.
    @inline(never) mutating func remove(_ timer: TimerRecord) {
        var hole = Int(timer.position)
        if hole < mark {
            mark -= 1
            move(Int(mark), to: hole)
            hole = Int(mark)
        }
        // A timer that was moved already is not moved again.
        if hole != elements.count - 1 { move(elements.count - 1, to: hole) }
        elements.removeLast()
        timer.position = -1
    }

    private mutating func move(_ source: Int, to hole: Int) {
        let element = elements[source]
        elements[hole] = element
        element.position = hole
    }
}
