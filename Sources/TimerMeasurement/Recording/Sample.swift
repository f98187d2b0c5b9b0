/// What one tick left behind.
package struct Sample: Hashable, Sendable {
    /// The number of the deadline.
    package var index: UInt64
    /// Nanoseconds from the deadline to the handler; negative for an early tick.
    package var lateness: Int64
    /// Nanoseconds from the deadline to when the alarm's thread looked at the clock.
    package var wakeLateness: Int64
    /// How many later deadlines got no tick of their own.
    package var missed: UInt64

    package init(index: UInt64, lateness: Int64, wakeLateness: Int64, missed: UInt64) {
        self.index = index
        self.lateness = lateness
        self.wakeLateness = wakeLateness
        self.missed = missed
    }

    /// Nanoseconds from the alarm's thread to the handler, which may be on another one.
    package var hopLateness: Int64 { lateness &- wakeLateness }
}
