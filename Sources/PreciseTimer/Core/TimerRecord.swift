/// One timer's numbers. The engine's subclass adds the handler and the target.
///
/// The lock that protects the timer's scheduler protects them, too. This is why the class is `@unchecked Sendable`, and
/// why its accesses are not checked at run time.
@safe package class TimerRecord: @unchecked Sendable {
    /// The order among equal deadlines: each (re)schedule takes a new number.
    @safe @exclusivity(unchecked) package internal(set) final var sequence: UInt64 = 0
    /// When it ticks.
    @safe @exclusivity(unchecked) package final var timing: Timing
    /// The position in the queue, or in a group; -1 outside.
    @safe @exclusivity(unchecked) final var position: Int32 = -1
    /// The position in the list of all timers; -1 outside.
    @safe @exclusivity(unchecked) final var listPosition: Int32 = -1
    /// What the timer is doing.
    @safe @exclusivity(unchecked) package internal(set) final var stage = Stage.idle
    /// Whether the timer has ended, and why.
    @safe @exclusivity(unchecked) package internal(set) final var ending = TimerEnding.goesOn
    /// Whether it may get another schedule, be paused or fired. Not any more if it has ended, or is about to.
    @safe @exclusivity(unchecked) package final var takesOrders = true

    /// A timer that has no deadline until it is added to a scheduler.
    init(timing: consuming Timing) { self.timing = timing }

    /// A timer without an owner, for tests.
    package convenience init(_ timing: consuming Timing) { self.init(timing: timing) }

    /// Whether the timer has ended and will not tick again.
    package final var hasEnded: Bool { ending != .goesOn }

    /// Whether a scheduler has the timer.
    package final var isAdded: Bool { listPosition >= 0 }

    /// Whether a tick is on its way to the handler, or the handler is running.
    package final var isInDelivery: Bool { stage.rawValue >= Stage.dispatched.rawValue }

    /// Whether the handler is running.
    @inline(__always) package final var isInHandler: Bool { stage.rawValue >= Stage.firing.rawValue }

    /// Whether the next deadline is counted from the return of the handler. The timing of a timer that has ended
    /// stays as it is: who finalizes it reads it without a lock.
    package final var countsFromReturn: Bool { timing.countsFromReturn && !hasEnded }
}

/// What a timer is doing.
package enum Stage: UInt8, Sendable {
    /// It is in no queue: it has no next deadline, or not yet, or is paused, or has ended.
    case idle
    /// It is in the queue, and waits for its turn in a round.
    case queued
    /// It is due, or was asked for an extra tick, and waits for the next round.
    case deferred
    /// It is due, and its tick is on its way to its handler.
    case dispatched
    /// It is in its handler, which the round calls itself. It keeps its position in the queue, unless it
    /// ends, or a round within that handler meets it there. To take it out and to queue it again would be plainer, and
    /// would take 1,678 instructions for each tick instead of 1,458: 109 ns instead of 103 with 10,000 timers, 687
    /// instead of 608 with 300,000.
    case firing
    /// It is in its handler, which is called elsewhere or by an outer round, and in no queue.
    case running
}

/// Whether a timer has ended, and why.
package enum TimerEnding: UInt8, Sendable {
    case goesOn
    case completed, cancelled, targetReleased, handleReleased, serviceShutDown, failed, backendFailed
}

/// What a timer ticks for, as a reading of the clock decided it.
package struct Expiration: Hashable, Sendable {
    /// The number of the deadline that the tick stands for.
    package let index: UInt64
    /// That deadline, the oldest that has had no tick.
    package let deadline: UInt64
    /// How much later the latest deadline is that had passed as well, in nanoseconds.
    package let span: UInt64
    /// How many deadlines were missed, or one of the two marks below.
    private let count: UInt64
    private static var extra: UInt64 { .max }
    private static var computed: UInt64 { .max - 1 }

    /// How many later deadlines had passed as well and get no tick of their own. Saturates just below the greatest
    /// number.
    package var missed: UInt64 { count < Self.computed ? count : 0 }
    /// Whether the tick stands for no deadline, but was asked for.
    package var isExtra: Bool { count == Self.extra }
    /// Whether the next deadline must be computed before the tick is delivered (``Repetition/computed``).
    package var isComputed: Bool { count == Self.computed }

    /// The facts of a tick.
    package init(
        index: UInt64,
        deadline: UInt64,
        span: UInt64 = 0,
        missed: UInt64 = 0,
        isExtra: Bool = false,
        isComputed: Bool = false
    ) {
        self.index = index
        self.deadline = deadline
        self.span = span
        count = isExtra ? Self.extra : isComputed ? Self.computed : min(missed, Self.computed - 1)
    }
}
