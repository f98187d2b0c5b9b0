/// One timer in numbers: where on its grid it is, and whether it waits, is on its way to its handler, or rests.
package struct TimerEntry: Hashable, Sendable {
    /// Which timer it is.
    package let id: TimerID
    /// Which schedule of the timer it is, and its place among equal deadlines: a number given by each (re)schedule.
    package var sequence: UInt64
    /// The deadlines.
    package var grid: Grid
    /// The step of the oldest deadline that has had no tick.
    package var step: UInt64
    /// That deadline's number.
    package var index: UInt64 = 0
    /// What becomes of deadlines that were missed.
    package let policy: LatePolicy
    /// How many nanoseconds late a tick may be on purpose.
    package let tolerance: UInt64
    /// Since when an extra tick has been asked for.
    package var extra: TimerInstant?
    /// Whether ticks are held back.
    package var isPaused: Bool
    /// Whether a tick is on its way to the handler, or the handler is running.
    package var isInDelivery = false
    /// How many late deadlines have had their ticks, one after the other, since the timer last caught up.
    package var burst = 0
    /// Whether there will be no tick any more.
    package var hasEnded = false
    /// Whether the slot is free.
    var isForgotten = false

    /// A timer at the beginning of its grid.
    package init(id: TimerID, grid: Grid, policy: LatePolicy, tolerance: UInt64, isPaused: Bool) {
        self.id = id
        sequence = id.generation
        self.grid = grid
        step = grid.firstStep
        self.policy = policy
        self.tolerance = tolerance
        self.isPaused = isPaused
    }

    /// Whether the timer's next deadline is to be waited for.
    package var isWaiting: Bool { !(hasEnded || isPaused || isInDelivery) }

    /// Whether the timer goes on when its handler returns.
    package var awaitsReturn: Bool {
        if case .afterReturn = grid.repetition { step > 0 } else { false }
    }

    /// The next deadline of the grid; nil past the last one, and until a handler that is waited for has returned.
    package var gridDeadline: TimerInstant? { grid.deadline(step) }

    /// When the next tick is due; nil where none is to come.
    package var nextDeadline: TimerInstant? {
        guard let extra else { return gridDeadline }
        return gridDeadline.map { min($0, extra) } ?? extra
    }

    /// The same without a deadline that is never.
    package var comingDeadline: TimerInstant? { nextDeadline.flatMap { $0.isNever ? nil : $0 } }

    /// When to look for the next tick: at its deadline or, with a tolerance, at the first instant from there on that is
    /// round enough to be shared with others. Those instants are the multiples of the largest power of two within the
    /// tolerance, so that coarse ones coincide with finer ones, whatever the timers' phases are.
    package var nextLook: TimerInstant? {
        guard let deadline = gridDeadline else { return extra }
        let look = deadline.roundedUp(within: tolerance)
        return extra.map { min($0, look) } ?? look
    }

    /// Starts anew on another grid.
    package mutating func restart(on grid: Grid, sequence: UInt64) {
        self.grid = grid
        self.sequence = sequence
        step = grid.firstStep
        index = 0
        burst = 0
    }

    /// Claims the timer, whose next deadline has come, for delivery.
    mutating func claim() -> Claim {
        guard let deadline = nextDeadline else { preconditionFailure("only a timer with a deadline to come is due") }
        isInDelivery = true
        return Claim(timer: id, sequence: sequence, deadline: deadline)
    }

    /// Claims a timer that catches up once more, for another deadline that had passed at the same look. Nil if it has
    /// caught up.
    func claimAgain(lookedAt look: TimerInstant) -> Claim? {
        guard burst > 0, burst < policy.limit, !isPaused, !hasEnded, let next = comingDeadline, next <= look
        else { return nil }
        return Claim(timer: id, sequence: sequence, deadline: next)
    }

    /// The tick for the oldest deadline that has passed at `now`; nil where there is none.
    package mutating func takeTick(at now: TimerInstant) -> Due? {
        guard let deadline = nextDeadline, deadline <= now else { return nil }
        if let extra, extra == deadline, gridDeadline != deadline {
            self.extra = nil
            return Due(index: index, deadline: extra, missed: 0)
        }
        burst += 1
        let later = grid.latestStep(at: now) - step
        let missed = burst < policy.limit ? 0 : later
        let due = Due(index: index, deadline: deadline, missed: missed)
        index = index.saturatingAdding(missed).saturatingAdding(1)
        if policy == .delay, missed > 0 {
            grid = grid.restarted(at: now)
            step = grid.firstStep
        } else {
            step = step.saturatingAdding(missed).saturatingAdding(1)
        }
        return due
    }

    /// Goes on after the handler has returned.
    package mutating func handlerReturned(at now: TimerInstant) {
        guard let next = grid.continued(afterReturnAt: now) else { return }
        grid = next
        step = next.firstStep
    }
}

/// What a look at the clock makes of a timer that is due: the facts of its tick.
package struct Due: Hashable, Sendable {
    /// The number of the deadline that the tick stands for.
    package let index: UInt64
    /// That deadline, the oldest that has had no tick.
    package let deadline: TimerInstant
    /// How many later deadlines had passed as well and get no tick of their own.
    package let missed: UInt64

    /// The facts of a tick.
    package init(index: UInt64, deadline: TimerInstant, missed: UInt64) {
        self.index = index
        self.deadline = deadline
        self.missed = missed
    }
}

extension UInt64 {
    fileprivate func saturatingAdding(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
