/// The timers whose handler is running, also those that have ended meanwhile, in no particular order. They are not
/// retained: the code that calls a handler holds its timer.
///
/// The list may change while a caller iterates from its end to its beginning, as with ``TimerList``.
@safe
struct RunningTimers: ~Copyable {
    /// Not private: Swift 6.3 would not find its metadata when it destroys a scheduler.
    @safe
    struct Element: BitwiseCopyable {
        let reference: Unmanaged<TimerEntry>
    }

    private var elements = Segments<Element>()

    /// The number of timers.
    var count: Int { elements.count }

    /// The timer at a position. Constant time.
    subscript(position: Int) -> TimerEntry { unsafe elements[position].reference.takeUnretainedValue() }

    /// Adds a timer, which is in no queue. Constant time.
    mutating func append(_ timer: TimerEntry) {
        assert(timer.position < 0, "a running timer is in no queue")
        timer.position = Int32(elements.count)
        unsafe elements.append(Element(reference: .passUnretained(timer)))
    }

    /// Removes a timer. Constant time.
    mutating func remove(_ timer: TimerEntry) {
        let hole = Int(timer.position)
        if hole != elements.count - 1 {
            elements[hole] = elements[elements.count - 1]
            unsafe elements[hole].reference._withUnsafeGuaranteedRef { $0.position = Int32(hole) }
        }
        elements.removeLast()
        timer.position = -1
    }
}
