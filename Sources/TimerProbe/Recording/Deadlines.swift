package import PreciseTimer

/// The expected deadlines of a measurement: start + index × period. This is written again rather than taken from the
/// library, so that the two check each other.
package struct Deadlines: Hashable, Sendable {
    /// Deadline 0.
    package let start: TimerInstant
    /// Nanoseconds between two deadlines, at least 1.
    package let period: UInt64

    package init(start: TimerInstant, period: UInt64) {
        self.start = start
        self.period = period
    }

    /// The time between two deadlines.
    var step: Duration { .nanoseconds(Int64(clamping: period)) }

    /// A period before deadline 0. A repetition that cannot be given a start begins then.
    var beginning: TimerInstant { start.advanced(by: .zero - step) }

    /// The deadline with an index.
    package subscript(index: UInt64) -> TimerInstant {
        TimerInstant(nanoseconds: start.nanoseconds + index * period, clock: start.clock)
    }

    /// The number of deadlines that have passed at an instant of the same clock.
    package func passed(at now: TimerInstant) -> UInt64 {
        now.nanoseconds < start.nanoseconds ? 0 : (now.nanoseconds - start.nanoseconds) / period + 1
    }
}
