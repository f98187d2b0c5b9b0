/// The deadlines of one timer, each computed from its step, so that nothing adds up. In nanoseconds on the timer's clock.
package struct Grid: Hashable, Sendable {
    /// What follows on a deadline.
    package enum Repetition: Hashable, Sendable {
        /// Nothing: there is one deadline.
        case none
        /// Another one with every step of a period.
        case every(Period)
        /// Another one so many nanoseconds after the handler of this one has returned.
        case afterReturn(UInt64)
        /// A rest, until the timer is given another schedule.
        case onDemand
    }

    /// Step 0; never if no deadline is known.
    package let origin: UInt64
    /// What follows on a deadline.
    package let repetition: Repetition
    /// The step of the first deadline.
    package let firstStep: UInt64

    /// The deadlines that begin at the origin, or a number of steps after it.
    package init(origin: UInt64, repetition: Repetition = .none, firstStep: UInt64 = 0) {
        self.origin = origin
        self.repetition = repetition
        self.firstStep = firstStep
    }

    /// The nominal length of a step; nil if there is one deadline only.
    package var period: Duration? {
        switch repetition {
        case .none, .onDemand: nil
        case .every(let period): period.duration
        case .afterReturn(let delay): Duration(wholeNanoseconds: delay)
        }
    }

    /// The deadline of a step, saturating at never; nil if there is none, or not yet. Constant time.
    package func deadline(_ step: UInt64) -> UInt64? {
        guard case .every(let period) = repetition else { return step == 0 ? origin : nil }
        // The last step that can be counted is never reached.
        guard step != .max, let offset = period.offset(ofStep: step) else { return .max }
        return origin.saturatingAdding(offset)
    }

    /// The latest step at or before `now`, which must not be before the origin. Constant time: a division, however many
    /// deadlines have passed.
    package func latestStep(at now: UInt64) -> UInt64 {
        assert(origin <= now, "no deadline has passed yet")
        guard case .every(let period) = repetition else { return 0 }
        return period.latestStep(within: now - origin)
    }

    /// The same steps, counted anew from `now`: the next deadline is one step later.
    package func restarted(at now: UInt64) -> Grid { Grid(origin: now, repetition: repetition, firstStep: 1) }
}

extension UInt64 {
    /// The sum, or the highest number.
    func saturatingAdding(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
