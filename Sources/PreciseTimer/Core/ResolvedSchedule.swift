/// When the deadlines of a schedule begin. The user writes it with durations and instants, and the scheduler gets it in
/// nanoseconds.
package enum ScheduleStart<Length: Equatable & Sendable, Instant: Equatable & Sendable>: Equatable, Sendable {
    /// The first deadline is this long after the start.
    case after(Length)
    /// The first deadline is one step after the start, exactly.
    case afterOneStep
    /// The first deadline is this instant.
    case at(Instant)
    /// The first deadline is the first instant after the start that is a whole number of periods from this one.
    case aligned(to: Instant)
    /// There is no deadline yet.
    case never
}

/// What follows a deadline.
package enum Repetition<Length: Equatable & Sendable>: Equatable, Sendable {
    /// Nothing: there is only one deadline.
    case once
    /// A deadline at every step of a period.
    case every(Length)
    /// This many deadlines in a length, evenly spaced.
    case rate(Int, per: Length)
    /// A deadline this long after the handler has returned.
    case fixedDelay(Length)
    /// Each deadline is computed elsewhere, while the tick of the previous one is being delivered.
    case computed
    /// No deadline until the timer gets another schedule.
    case onDemand
}

/// A schedule that was checked, in nanoseconds on the timer's clock. The timer's ``Timing`` begins with it.
package struct ResolvedSchedule: Sendable {
    /// What few schedules have besides.
    package struct Modifiers: Sendable {
        /// The number of ticks after which there is no deadline any more; `.max` for no limit.
        package var count: UInt64 = .max
        /// All deadlines are later by a random length from zero up to this one.
        package var spread: UInt64 = 0
        /// Each deadline is later by a random length from zero up to this one.
        package var jitter: UInt64 = 0
        /// The time from the start to the end; `.max` for no end.
        package var span: UInt64 = .max

        package init(count: UInt64 = .max, spread: UInt64 = 0, jitter: UInt64 = 0, span: UInt64 = .max) {
            (self.count, self.spread, self.jitter, self.span) = (count, spread, jitter, span)
        }
    }

    package typealias Start = ScheduleStart<UInt64, UInt64>

    package let start: Start
    package let repetition: Repetition<UInt64>
    package var modifiers: Modifiers?

    package init(_ start: Start, _ repetition: Repetition<UInt64>, _ modifiers: Modifiers? = nil) {
        (self.start, self.repetition, self.modifiers) = (start, repetition, modifiers)
    }

    /// Whether the first deadline depends on the current instant.
    package var countsFromNow: Bool {
        switch start {
        case .after, .afterOneStep, .aligned: true
        case .at, .never: false
        }
    }

    /// The instant of step 0, for a start at `now`.
    @inline(__always) func origin(at now: UInt64) -> UInt64 {
        switch start {
        case .after(let delay): now.saturatingAdding(delay)
        case .afterOneStep: now
        case .at(let instant): instant
        case .aligned(to: let instant): next(after: now, alignedTo: instant)
        case .never: .max
        }
    }

    /// Only a whole period is aligned.
    private func next(after now: UInt64, alignedTo instant: UInt64) -> UInt64 {
        guard case .every(let period) = repetition else { return instant }
        return Period(nanoseconds: period).next(after: now, alignedTo: instant)
    }
}

/// The deadlines of a schedule with a period, in nanoseconds on the timer's clock. Each deadline is computed from its
/// step, so rounding errors do not add up.
package struct Grid: Equatable, Sendable {
    /// The instant of step 0, or `.max` if no deadline will come.
    package var origin: UInt64
    /// The length of a step.
    package let period: Period

    package init(_ origin: UInt64, _ period: Period) { (self.origin, self.period) = (origin, period) }

    /// The deadline of a step, which saturates at `.max`. Constant time.
    package func deadline(_ step: UInt64) -> UInt64 { period.offset(ofStep: step).map(origin.saturatingAdding) ?? .max }

    /// The latest step at or before `now`, which must not be before the origin. Constant time: one division, however
    /// many deadlines have passed.
    package func latestStep(at now: UInt64) -> UInt64 {
        assert(origin <= now, "no deadline has passed yet")
        return period.latestStep(within: now - origin)
    }
}

extension FixedWidthInteger {
    /// The sum with a number that is not negative, or the greatest number if the sum overflows.
    package func saturatingAdding(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}

/// The length of a step between two deadlines. It is exact even if it is not a whole number of nanoseconds.
package struct Period: Equatable, Sendable {
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

/// Random numbers from a seed: SplitMix64 of Steele, Lea and Flood, "Fast splittable pseudorandom number generators"
/// (2014). Not for secrets.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// A generator whose numbers the seed determines.
    package init(seed: UInt64) { state = seed }

    /// The next number. Constant time.
    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
