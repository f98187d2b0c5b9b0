/// One tick's place in time.
package struct Point: Hashable, Sendable {
    /// Nanoseconds from the turn's first deadline to the tick's deadline.
    package let time: UInt64
    /// Nanoseconds from the tick's deadline to the tick.
    package let lateness: Int64

    package init(time: UInt64, lateness: Int64) {
        self.time = time
        self.lateness = lateness
    }
}
