package import TimerCore

/// The deadlines that a measurement expects: start + index × period. Written anew rather than taken from the library,
/// so that the two check each other.
package struct Deadlines: Hashable, Sendable {
    /// Deadline 0, in nanoseconds on the monotonic clock.
    package let start: UInt64
    /// Nanoseconds between two deadlines, at least 1.
    package let period: UInt64

    package init(start: TimerInstant, period: UInt64) {
        self.start = start.nanoseconds
        self.period = period
    }

    /// The deadline of a number.
    package subscript(index: UInt64) -> TimerInstant { TimerInstant(nanoseconds: start + index * period) }

    /// How many deadlines have passed at an instant.
    package func passed(at now: TimerInstant) -> UInt64 {
        now.nanoseconds < start ? 0 : (now.nanoseconds - start) / period + 1
    }
}
