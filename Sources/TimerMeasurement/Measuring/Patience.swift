/// Decides when a row that does not tick is given up.
package struct Patience: Hashable, Sendable {
    /// Nanoseconds without a tick after which it is.
    package let limit: UInt64
    private var ticks = 0
    private var lastChange: UInt64

    /// Begins to wait.
    package init(limit: UInt64, now: UInt64) {
        self.limit = limit
        lastChange = now
    }

    /// Whether it is over, seeing so many ticks now.
    package mutating func isOver(ticks: Int, now: UInt64) -> Bool {
        if ticks != self.ticks {
            self.ticks = ticks
            lastChange = now
        }
        return now - lastChange > limit
    }
}
