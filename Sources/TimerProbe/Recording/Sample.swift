/// The record of one tick.
package struct Sample: Hashable, Sendable {
    /// The index of the deadline.
    package var index: UInt64
    /// Nanoseconds from the deadline to the handler; negative for an early tick.
    package var lateness: Int64
    /// Nanoseconds from the deadline to the reading of the clock on the alarm's thread.
    package var wakeLateness: Int64
    /// The number of later deadlines that got no tick of their own.
    package var missed: UInt64

    /// Nanoseconds from the alarm's thread to the handler, which may be on another thread.
    package var hopLateness: Int64 { lateness &- wakeLateness }
}
