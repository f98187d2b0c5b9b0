/// The right to deliver a timer that is due.
package struct Claim: Hashable, Sendable {
    /// Whose tick it is.
    package let timer: TimerID
    /// Of which schedule of the timer.
    package let sequence: UInt64
    /// The deadline that has come.
    package let deadline: TimerInstant

    /// The right to deliver a timer for a deadline of a schedule.
    package init(timer: TimerID, sequence: UInt64, deadline: TimerInstant) {
        self.timer = timer
        self.sequence = sequence
        self.deadline = deadline
    }

    /// Whether this tick comes before another: by deadline and then by scheduling.
    package func precedes(_ other: Claim) -> Bool {
        deadline.nanoseconds != other.deadline.nanoseconds
            ? deadline.nanoseconds < other.deadline.nanoseconds : sequence < other.sequence
    }
}
