import PreciseTimer
import TimerProbe

/// Recordings with known results.
enum Recorded {
    /// Deadline 0 of all recordings, in nanoseconds.
    static let start: UInt64 = 1_000_000_000

    /// A tick for every deadline, with its lateness in nanoseconds.
    static func recording(_ latenesses: [Int64], period: UInt64 = 1_000_000) -> Recording {
        let deadlines = Deadlines(start: TimerInstant(nanoseconds: start), period: period)
        var recording = Recording(of: deadlines, goal: UInt64(latenesses.count))
        for (index, lateness) in latenesses.enumerated() {
            recording.record(arrival(UInt64(index), of: deadlines, lateness: lateness))
        }
        return recording
    }

    /// A tick for a deadline, with the same reading of the clock at the wake-up and at the handler.
    static func arrival(
        _ index: UInt64,
        of deadlines: Deadlines,
        lateness: Int64,
        missed: UInt64 = 0
    ) -> Recording.Arrival {
        let deadline = deadlines[index]
        let now = TimerInstant(nanoseconds: UInt64(Int64(deadline.nanoseconds) + lateness))
        return Recording.Arrival(index: index, deadline: deadline, missed: missed, woke: now, delivered: now)
    }
}

extension TimerInstant {
    /// The instant some nanoseconds later.
    static func + (instant: TimerInstant, nanoseconds: UInt64) -> TimerInstant {
        instant.advanced(by: .nanoseconds(nanoseconds))
    }
}
