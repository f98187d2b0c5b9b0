/// One timer's numbers. The engine's subclass adds what is called, and for whom.
///
/// The lock that protects the timer's scheduler protects them, too. This is why the class is `@unchecked Sendable`, and
/// why its accesses are not checked at run time.
@safe package class TimerRecord: @unchecked Sendable {
    /// The order among equal deadlines: each (re)schedule takes a new number.
    @safe @exclusivity(unchecked) package internal(set) final var sequence: UInt64 = 0
    /// When it ticks.
    @safe @exclusivity(unchecked) package final var timing: Timing
    /// The position in the queue, or among the running timers; -1 outside.
    @safe @exclusivity(unchecked) final var position: Int32 = -1
    /// The position in the list of all timers; -1 outside.
    @safe @exclusivity(unchecked) final var listPosition: Int32 = -1
    /// What the timer is doing.
    @safe @exclusivity(unchecked) package internal(set) final var stage = Stage.idle
    /// Whether the timer has ended, and why.
    @safe @exclusivity(unchecked) package internal(set) final var ending = TimerEnding.goesOn

    /// A timer that has no deadline until it is added to a scheduler.
    init(timing: consuming Timing) { self.timing = timing }

    /// A timer without an owner, for tests.
    package convenience init(_ timing: consuming Timing) { self.init(timing: timing) }

    /// Whether the timer has ended and will not tick again.
    package final var hasEnded: Bool { ending != .goesOn }

    /// Whether a scheduler has the timer.
    package final var isAdded: Bool { listPosition >= 0 }

    /// Whether a tick is on its way to the handler, or the handler is running.
    package final var isInDelivery: Bool { stage.rawValue >= Stage.firing.rawValue }

    /// Whether the handler is running.
    @inline(__always) package final var isInHandler: Bool { stage == .firing || stage == .running }

    /// Whether the next deadline is counted from the return of the handler. The timing of a timer that has ended
    /// stays as it is: who finalizes it reads it without a lock.
    package final var countsFromReturn: Bool { timing.countsFromReturn && !hasEnded }
}
