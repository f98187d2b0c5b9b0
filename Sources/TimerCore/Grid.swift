/// The deadlines of one timer, each computed from its number, so that nothing adds up.
package struct Grid: Hashable, Sendable {
    /// Deadline 0.
    package let start: TimerInstant
    /// Nanoseconds between two deadlines, at least 1; nil where deadline 0 is the only one.
    package let period: UInt64?

    /// A single deadline, or one every `period` nanoseconds from `start` on.
    package init(start: TimerInstant, period: UInt64? = nil) {
        assert(period != 0, "a period is at least one nanosecond")
        self.start = start
        self.period = period
    }

    /// The deadline of a number, saturating at never; nil past the only one. Constant time.
    package func deadline(_ index: UInt64) -> TimerInstant? {
        guard let period else { return index == 0 ? start : nil }
        let (offset, overflow) = period.multipliedReportingOverflow(by: index)
        return overflow ? .never(on: start.clock) : start.moved(by: offset)
    }

    /// The number of the latest deadline at or before `now`, which must not be before the start. Constant time: a
    /// division, however many deadlines have passed.
    package func latestIndex(at now: TimerInstant) -> UInt64 {
        assert(start <= now, "no deadline has passed yet")
        guard let period else { return 0 }
        return (now.nanoseconds - start.nanoseconds) / period
    }
}

/// What a look at the clock makes of a timer that is due: the one tick to deliver, and where the timer goes on.
package struct Due: Hashable, Sendable {
    /// The timer.
    package let timer: TimerID
    /// The number of the deadline that the tick stands for.
    package let index: UInt64
    /// That deadline, the oldest that has had no tick.
    package let deadline: TimerInstant
    /// How many later deadlines had passed as well and get no tick of their own.
    package let missed: UInt64
    /// Whether the timer has no deadline after this tick.
    package let isLast: Bool

    /// The tick of a timer.
    package init(timer: TimerID, index: UInt64, deadline: TimerInstant, missed: UInt64, isLast: Bool) {
        self.timer = timer
        self.index = index
        self.deadline = deadline
        self.missed = missed
        self.isLast = isLast
    }
}
