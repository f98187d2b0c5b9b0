/// What a record carries for its user.
package protocol UserFacts: ~Copyable {
    /// The user's part of what few timers need.
    associatedtype Extras: UserExtras
}

/// See ``UserFacts/Extras``.
package protocol UserExtras { init() }

// Not members of the record, which is generic: if it is not specialised, as in a debug build, the compiler asks for its
// types at run time.

/// What a timer is doing.
package enum Whereabouts: UInt8, Sendable {
    /// It is in no queue: it has no next deadline, or not yet.
    case rests
    /// It is in the queue of deadlines.
    case awaitsDeadline
    /// It is in the queue of looks.
    case awaitsLook
    /// It is in its handler, which the look calls itself. It keeps its place in the queue of deadlines meanwhile,
    /// unless it ends, or another look meets it there.
    case isCalled
    /// It is due, and on its way to its handler.
    case onItsWay
    /// It is in its handler, and in no queue.
    case runs
}

/// Whether a timer has ended, and why.
package enum TimerEnding: UInt8, Sendable {
    case goesOn
    case completed, cancelled, targetReleased, handleReleased, serviceShutDown, failed, backendFailed
}

/// The facts of a tick, as a look at the clock decided on them.
package struct Due: Hashable, Sendable {
    /// The number of the deadline that the tick stands for.
    package let index: UInt64
    /// That deadline, the oldest that has had no tick.
    package let deadline: UInt64
    /// `.max` for an extra tick.
    private let count: UInt64

    /// How many later deadlines had passed as well and get no tick of their own. Saturates one below the greatest
    /// number.
    package var missed: UInt64 { isExtra ? 0 : count }
    /// Whether the tick stands for no deadline, but was asked for.
    package var isExtra: Bool { count == .max }

    /// The facts of a tick.
    package init(index: UInt64, deadline: UInt64, missed: UInt64, isExtra: Bool = false) {
        self.index = index
        self.deadline = deadline
        count = isExtra ? .max : min(missed, .max - 1)
    }
}
