/// All timers that have not ended, in no particular order; the one place that retains them.
///
/// Whoever goes through the list from its end to its beginning, with pauses in which the list may change, meets every
/// timer that is there all the time: when one is removed, the last takes its place.
///
/// Timers of a service that was shut down are the first in the list, until each of them has been ended: the service may
/// have been started again by then, and newer timers go on.
@safe
struct TimerList: ~Copyable {
    @safe
    private struct Element: BitwiseCopyable {
        let reference: Unmanaged<TimerEntry>
    }

    private var elements = Segments<Element>()
    /// How many timers are still to be ended: the first of the list.
    private(set) var closing = 0

    init() {}

    deinit {
        for position in 0..<elements.count { unsafe elements[position].reference.release() }
    }

    /// How many timers there are.
    var count: Int { elements.count }

    /// The timer at a position. Constant time.
    subscript(position: Int) -> TimerEntry { unsafe elements[position].reference.takeUnretainedValue() }

    /// Adds a timer. Constant time.
    mutating func append(_ timer: TimerEntry) {
        timer.place = Int32(elements.count)
        unsafe elements.append(Element(reference: .passRetained(timer)))
    }

    /// Removes a timer, which the caller holds: the reference that is released here is never the last. Constant time.
    mutating func remove(_ timer: TimerEntry) {
        var hole = Int(timer.place)
        let element = elements[hole]
        if hole < closing {
            closing -= 1
            move(closing, to: hole)
            hole = closing
        }
        if hole != elements.count - 1 { move(elements.count - 1, to: hole) }
        elements.removeLast()
        timer.place = -1
        unsafe element.reference.release()
    }

    /// From now on, all timers that are there now are to be ended.
    mutating func close() { closing = elements.count }

    /// Whether a timer is to be ended.
    func isClosing(_ timer: TimerEntry) -> Bool { Int(timer.place) < closing }

    private mutating func move(_ source: Int, to hole: Int) {
        elements[hole] = elements[source]
        unsafe elements[hole].reference._withUnsafeGuaranteedRef { $0.place = Int32(hole) }
    }
}
