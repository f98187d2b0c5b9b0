package import TimerCore

/// The deadlines that a measurement expects: start + index × period. Written anew rather than taken from the library,
/// so that the two check each other.
package struct Deadlines: Hashable, Sendable {
    /// Deadline 0.
    package let start: TimerInstant
    /// Nanoseconds between two deadlines, at least 1.
    package let period: UInt64

    package init(start: TimerInstant, period: UInt64) {
        self.start = start
        self.period = period
    }

    /// A period before deadline 0: what repeats without a start of its own is begun then.
    var beginning: TimerInstant { start.shifted(by: -Int64(clamping: period)) }

    /// The deadline of a number.
    package subscript(index: UInt64) -> TimerInstant {
        TimerInstant(nanoseconds: start.nanoseconds + index * period, clock: start.clock)
    }

    /// How many deadlines have passed at an instant of the same clock.
    package func passed(at now: TimerInstant) -> UInt64 {
        now.nanoseconds < start.nanoseconds ? 0 : (now.nanoseconds - start.nanoseconds) / period + 1
    }
}

extension TimerInstant {
    /// So many nanoseconds later, or earlier where they are negative.
    func shifted(by nanoseconds: Int64) -> TimerInstant {
        let (moved, overflow) = self.nanoseconds.subtractingReportingOverflow(nanoseconds.magnitude)
        if nanoseconds < 0 { return TimerInstant(nanoseconds: overflow ? 0 : moved, clock: clock) }
        return self.moved(by: nanoseconds.magnitude)
    }
}
