package import PreciseTimer

/// Decides when to give up a row that does not tick.
package struct Patience: Hashable, Sendable {
    /// The longest time without a tick.
    package let limit: Duration
    private var ticks = 0
    private var lastChange: TimerInstant

    /// Begins to wait.
    package init(limit: Duration, now: TimerInstant) {
        self.limit = limit
        lastChange = now
    }

    /// Whether to give up, after this number of ticks up to now.
    package mutating func isOver(ticks: Int, now: TimerInstant) -> Bool {
        if ticks != self.ticks {
            self.ticks = ticks
            lastChange = now
        }
        return lastChange.duration(to: now) > limit
    }
}
