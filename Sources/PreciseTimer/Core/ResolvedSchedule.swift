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
    /// Each deadline is computed elsewhere, while the tick of the former one is being delivered.
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

    /// Whether the first deadline depends on the present instant.
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
