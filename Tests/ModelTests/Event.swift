import PreciseTimer

/// An observable effect of the library in a run.
enum Event: Hashable, Sendable {
    /// A step was not performed: its timer does not exist, or the step does not apply.
    case skipped
    case returned(Bool)
    case refused(TimerError.Code)
    case done
    case state(PreciseTimer.State)
    case activeTimers([Seen])
    case tick(Int, TickFacts)
    /// The last reference to a target was released; targets are numbered in the order of their creation.
    case died(Int)
    /// A handler's captures were released.
    case released(Int)
    case ended(Int, PreciseTimer.EndReason)
    /// The state of the run after a step.
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

/// An entry of `activeTimers`.
struct Seen: Hashable, Sendable {
    let id: Int
    let nextDeadline: UInt64?
    let isPaused: Bool
    let ticks: UInt64
    let lastLateness: UInt64?
}

/// The state of a run between two steps.
struct Standing: Hashable, Sendable {
    let now: UInt64
    let pendingCount: Int
    /// When the service will look for a due timer.
    let nextLook: UInt64?
    /// The next deadlines of the timers that have not ended and whose handle is held.
    let nextDeadlines: [Int: UInt64?]
    /// Their periods.
    let periods: [Int: Duration?]
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
    /// The nanoseconds of a duration that is a whole number of nanoseconds, exactly.
    var wholeNanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
