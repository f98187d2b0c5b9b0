/// All timers that have not ended, in no particular order. Only this list retains them.
///
/// The list may change while a caller iterates from its end to its beginning. The caller still meets every timer
/// that stays in the list, because the last timer takes the place of a removed one.
///
/// After a shutdown, the service's timers are the first in the list until each of them has been ended. The service
/// may have been started again by then; its newer timers come after them and keep ticking.
@safe struct TimerList<User: UserFacts & ~Copyable>: ~Copyable {
    @safe private struct Element: BitwiseCopyable { let reference: Unmanaged<TimerRecord<User>> }

    private var elements = Segments<Element>()
    /// How many timers, from the beginning of the list, must still be ended.
    private(set) var closing: Int32 = 0

    init() {}

    deinit { for position in 0..<elements.count { unsafe elements[position].reference.release() } }

    /// The number of timers.
    var count: Int { elements.count }

    /// The timer at a position. Constant time.
    subscript(position: Int) -> TimerRecord<User> { unsafe elements[position].reference.takeUnretainedValue() }

    /// Adds a timer. Constant time.
    mutating func append(_ timer: TimerRecord<User>) {
        timer.place = Int32(truncatingIfNeeded: elements.count)
        unsafe elements.append(Element(reference: .passRetained(timer)))
    }

    /// Removes a timer. The caller holds it, so the reference released here is never the last. Constant time.
    mutating func remove(_ timer: TimerRecord<User>) {
        var hole = Int(timer.place)
        let element = elements[hole]
        if timer.place < closing {
            closing -= 1
            move(Int(closing), to: hole)
            hole = Int(closing)
        }
        let last = elements.count &- 1
        if hole != last { move(last, to: hole) }
        elements.removeLast()
        timer.place = -1
        unsafe element.reference.release()
    }

    /// Marks all present timers as timers that must be ended.
    mutating func close() { closing = Int32(truncatingIfNeeded: elements.count) }

    /// Whether there are timers besides those that must be ended.
    var hasOpen: Bool { closing < elements.count }

    private mutating func move(_ source: Int, to hole: Int) {
        elements[hole] = elements[source]
        unsafe elements[hole].reference._withUnsafeGuaranteedRef { $0.place = Int32(truncatingIfNeeded: hole) }
    }
}

/// The timers whose handler is running and that are in no queue, also those that have ended meanwhile, in no particular
/// order. They are not retained: the code that calls a handler holds its timer.
///
/// The list may change while a caller iterates from its end to its beginning, as with ``TimerList``.
@safe struct RunningTimers<User: UserFacts & ~Copyable>: ~Copyable {
    /// Not private: Swift 6.3 would not find its metadata when it destroys a scheduler.
    @safe struct Element: BitwiseCopyable {
        let reference: Unmanaged<TimerRecord<User>>
        /// When its handler was called.
        let since: UInt64
    }

    private var elements = Segments<Element>()

    /// The number of timers.
    var count: Int { elements.count }

    /// The timer at a position. Constant time.
    subscript(position: Int) -> TimerRecord<User> { unsafe elements[position].reference.takeUnretainedValue() }

    /// When the handler of a running timer was called. Constant time.
    func since(_ timer: TimerRecord<User>) -> UInt64 { elements[Int(timer.position)].since }

    /// Adds a timer, which is in no queue. Constant time.
    mutating func append(_ timer: TimerRecord<User>, since: UInt64) {
        assert(timer.position < 0, "a running timer is in no queue")
        timer.position = Int32(truncatingIfNeeded: elements.count)
        unsafe elements.append(Element(reference: .passUnretained(timer), since: since))
    }

    /// Removes a timer. Constant time.
    mutating func remove(_ timer: TimerRecord<User>) {
        let hole = Int(timer.position)
        if hole != elements.count - 1 {
            elements[hole] = elements[elements.count - 1]
            unsafe elements[hole].reference._withUnsafeGuaranteedRef { $0.position = Int32(truncatingIfNeeded: hole) }
        }
        elements.removeLast()
        timer.position = -1
    }
}
