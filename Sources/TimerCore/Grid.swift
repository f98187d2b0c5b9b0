/// The deadlines of one timer, each computed from its step, so that nothing adds up.
package struct Grid: Hashable, Sendable {
    /// What follows on a deadline.
    package enum Repetition: Hashable, Sendable {
        /// Nothing: there is one deadline.
        case none
        /// Another one with every step of a period.
        case every(Period)
        /// Another one so many nanoseconds after the handler of this one has returned.
        case afterReturn(UInt64)
    }

    /// Step 0.
    package let origin: TimerInstant
    /// What follows on a deadline.
    package let repetition: Repetition
    /// The step of the first deadline.
    package let firstStep: UInt64

    /// The deadlines that begin at the origin, or a number of steps after it.
    package init(origin: TimerInstant, repetition: Repetition = .none, firstStep: UInt64 = 0) {
        self.origin = origin
        self.repetition = repetition
        self.firstStep = firstStep
    }

    /// The nominal length of a step; nil where there is one deadline only.
    package var period: Duration? {
        switch repetition {
        case .none: nil
        case .every(let period): period.duration
        case .afterReturn(let delay): Duration(wholeNanoseconds: delay)
        }
    }

    /// The deadline of a step, saturating at never; nil where there is none, or not yet. Constant time.
    package func deadline(_ step: UInt64) -> TimerInstant? {
        guard case .every(let period) = repetition else { return step == 0 ? origin : nil }
        // The last step that can be counted is never reached.
        guard step != .max, let offset = period.offset(ofStep: step) else { return .never(on: origin.clock) }
        return origin.moved(by: offset)
    }

    /// The latest step at or before `now`, which must not be before the origin. Constant time: a division, however many
    /// deadlines have passed.
    package func latestStep(at now: TimerInstant) -> UInt64 {
        assert(origin <= now, "no deadline has passed yet")
        guard case .every(let period) = repetition else { return 0 }
        return period.latestStep(within: now.nanoseconds - origin.nanoseconds)
    }

    /// The same steps, counted anew from `now`: the next deadline is one step later.
    package func restarted(at now: TimerInstant) -> Grid {
        Grid(origin: now, repetition: repetition, firstStep: 1)
    }

    /// The next deadline of a timer whose handler has returned at `now`; nil where the handler has no say in it.
    package func continued(afterReturnAt now: TimerInstant) -> Grid? {
        guard case .afterReturn(let delay) = repetition else { return nil }
        return Grid(origin: now.moved(by: delay), repetition: repetition)
    }
}
