/// The deadlines of one timer, in nanoseconds on the timer's clock. Each deadline is computed from its step, so
/// rounding errors do not add up.
package struct Grid: Hashable, Sendable {
    /// What follows a deadline.
    package enum Repetition: Hashable, Sendable {
        /// Nothing: there is only one deadline.
        case none
        /// Nothing: there is only one deadline, and it was asked for as this many nanoseconds from then on.
        case once(UInt64)
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
    package init(origin: UInt64, repetition: Repetition = .none, firstStep: UInt64 = 0, count: UInt64 = .max) {
        self.origin = origin
        self.repetition = repetition
        self.firstStep = firstStep
        self.count = count
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

extension Grid {
    /// What few grids have besides, in nanoseconds.
    package struct Bounds: Hashable, Sendable {
        /// Each deadline is later by a random length from zero up to this one.
        package var jitter: UInt64 = 0
        /// Determines these lengths.
        package var seed: UInt64 = 0
        /// The time from the start to the end; `.max` for no end.
        package var span: UInt64 = .max
        /// No deadline after the first is later than this.
        package var end: UInt64 = .max

        package init(jitter: UInt64 = 0, seed: UInt64 = 0, span: UInt64 = .max, end: UInt64 = .max) {
            (self.jitter, self.seed, self.span, self.end) = (jitter, seed, span, end)
        }
    }
}

extension UInt64 {
    /// The sum, or `UInt64.max` if it overflows.
    package func saturatingAdding(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}

/// The length of a step between two deadlines. It is exact even if it is not a whole number of nanoseconds.
package struct Period: Hashable, Sendable {
    /// The length of `count` steps, in nanoseconds; at least 1.
    package let nanoseconds: UInt64
    /// The number of steps that take this long; at least 1.
    package let count: UInt64

    /// A step of `nanoseconds`, or `count` steps that take that long together.
    package init(nanoseconds: UInt64, count: UInt64 = 1) {
        assert(nanoseconds > 0 && count > 0, "a period is longer than zero")
        self.nanoseconds = nanoseconds
        self.count = count
    }

    /// The first instant after `now` that is a whole number of periods from another instant, which may be before or
    /// after it; saturates. Only for a period of one step. Constant time.
    package func next(after now: UInt64, alignedTo instant: UInt64) -> UInt64 {
        if instant == .max { return .max }
        if instant > now { return instant - (instant - now - 1) / nanoseconds * nanoseconds }
        return (instant + (now - instant) / nanoseconds * nanoseconds).saturatingAdding(nanoseconds)
    }

    /// Nanoseconds from the origin to a step, rounded up; nil if the number overflows. Constant time.
    package func offset(ofStep step: UInt64) -> UInt64? {
        // Nearly every period takes this path; a 128-bit division takes several times as long.
        if count == 1 {
            let (offset, overflow) = nanoseconds.multipliedReportingOverflow(by: step)
            return overflow ? nil : offset
        }
        let product = nanoseconds.multipliedFullWidth(by: step)
        guard product.high < count else { return nil }
        let (quotient, remainder) = count.dividingFullWidth(product)
        return remainder == 0 || quotient == .max ? quotient : quotient + 1
    }

    /// The latest step whose offset, rounded up, is at most `elapsed`; saturates. Constant time.
    package func latestStep(within elapsed: UInt64) -> UInt64 {
        // A step's exact offset is at most a whole number of nanoseconds if and only if its offset rounded up is.
        let product = elapsed.multipliedFullWidth(by: count)
        guard product.high < nanoseconds else { return .max }
        return nanoseconds.dividingFullWidth(product).quotient
    }
}

/// What happens to deadlines that have passed before their tick could be delivered.
package enum LatePolicy: Hashable, Sendable {
    /// They share one tick, and the grid stays.
    case skip
    /// Each gets its own tick, up to a limit per look; the last of these ticks stands for the rest.
    case catchUp(limit: Int)
    /// They share one tick, and the grid starts anew at that tick.
    case delay

    /// The maximum number of late ticks that one look at the clock yields.
    package var limit: Int { if case .catchUp(let limit) = self { limit } else { 1 } }
}
