/// The deadlines of one timer, in nanoseconds on the timer's clock. Each deadline is computed from its step, so
/// rounding errors do not add up.
package struct Grid: Hashable, Sendable {
    /// What follows a deadline.
    package enum Repetition: Hashable, Sendable {
        /// Nothing: there is only one deadline.
        case none
        /// A deadline at every step of a period.
        case every(Period)
        /// A deadline this many nanoseconds after the handler has returned.
        case afterReturn(UInt64)
        /// No deadline until the timer gets another schedule.
        case onDemand
    }

    /// The instant of step 0, or `.max` if no deadline is known.
    package let origin: UInt64
    /// What follows a deadline.
    package let repetition: Repetition
    /// The step of the first deadline.
    package let firstStep: UInt64
    /// The number of ticks after which the grid has no deadline any more; `.max` for no limit.
    package let count: UInt64

    /// A grid whose first deadline is at the origin, or a number of steps after it.
    package init(
        origin: UInt64,
        repetition: Repetition = .none,
        firstStep: UInt64 = 0,
        count: UInt64 = .max
    ) {
        self.origin = origin
        self.repetition = repetition
        self.firstStep = firstStep
        self.count = count
    }

    /// The nominal length of a step, or nil if there is only one deadline.
    package var period: Duration? {
        switch repetition {
        case .none, .onDemand: nil
        case .every(let period): period.duration
        case .afterReturn(let delay): Duration(wholeNanoseconds: delay)
        }
    }

    /// The deadline of a step, which saturates at `.max`; nil if that step has no deadline, or has none yet.
    /// Constant time.
    package func deadline(_ step: UInt64) -> UInt64? {
        guard case .every(let period) = repetition else { return step == 0 ? origin : nil }
        // A timer never reaches the last step that can be counted.
        guard step != .max, let offset = period.offset(ofStep: step) else { return .max }
        return origin.saturatingAdding(offset)
    }

    /// The latest step at or before `now`, which must not be before the origin. Constant time: one division, however
    /// many deadlines have passed.
    package func latestStep(at now: UInt64) -> UInt64 {
        assert(origin <= now, "no deadline has passed yet")
        guard case .every(let period) = repetition else { return 0 }
        return period.latestStep(within: now - origin)
    }

    /// The same grid with `now` as its new origin: the next deadline is one step later.
    package func restarted(at now: UInt64) -> Grid { Grid(origin: now, repetition: repetition, firstStep: 1) }
}

extension UInt64 {
    /// The sum, or `UInt64.max` if it overflows.
    package func saturatingAdding(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
