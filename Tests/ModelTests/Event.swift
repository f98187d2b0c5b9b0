import PreciseTimer

/// What a run can see of the library.
enum Event: Hashable, Sendable {
    /// A step was not taken: its timer does not exist, or it does not apply.
    case skipped
    case returned(Bool)
    case refused(TimerError.Code)
    case done
    case state(PreciseTimer.State)
    case activeTimers([Seen])
    case tick(Int, TickFacts)
    /// The last reference to a target has gone; targets are numbered in the order of their creation.
    case died(Int)
    /// What a handler had captured has been released.
    case released(Int)
    case ended(Int, PreciseTimer.EndReason)
    /// How things stand after a step.
    case standing(Standing)
}

/// A tick, in nanoseconds.
struct TickFacts: Hashable, Sendable {
    let index: UInt64
    let deadline: UInt64
    let woke: UInt64
    let delivered: UInt64
    let missed: UInt64
}

/// A line of `activeTimers`.
struct Seen: Hashable, Sendable {
    let id: Int
    let nextDeadline: UInt64?
    let isPaused: Bool
    let ticks: UInt64
    let lastLateness: UInt64?
}

/// What is true between two steps.
struct Standing: Hashable, Sendable {
    let now: UInt64
    let pendingCount: Int
    /// When the service will look for a due timer.
    let nextLook: UInt64?
    /// Of the timers that have not ended and whose handle is held.
    let nextDeadlines: [Int: UInt64?]
}

extension TickFacts {
    init(_ tick: PreciseTimer.Tick) {
        index = tick.index
        deadline = tick.deadline.nanoseconds
        woke = tick.woke.nanoseconds
        delivered = tick.delivered.nanoseconds
        missed = tick.missed
    }
}

extension Duration {
    /// The nanoseconds of a length that is a whole number of them, exactly.
    var wholeNanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
