import TimerCore
import TimerMeasurement

/// Measurements that never happened, whose results are known.
enum Synthetic {
    /// Deadline 0 of all of them, in nanoseconds.
    static let start: UInt64 = 1_000_000_000

    /// A tick for every deadline, each late by so many nanoseconds.
    static func recording(_ latenesses: [Int64], period: UInt64 = 1_000_000) -> Recording {
        let deadlines = Deadlines(start: TimerInstant(nanoseconds: start), period: period)
        var recording = Recording(of: deadlines, goal: UInt64(latenesses.count))
        for (index, lateness) in latenesses.enumerated() {
            recording.record(arrival(UInt64(index), of: deadlines, lateness: lateness))
        }
        return recording
    }

    /// A tick for a deadline, which was late by so much, and for which the clock was read only once.
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

    /// A round of such ticks, which took 1 % of a processor and one wake-up for each tick.
    static func round(_ latenesses: [Int64], period: UInt64 = 1_000_000) -> RoundResult {
        let cpu = Int64(latenesses.count - 1) * Int64(period) / 100
        return RoundResult(recording(latenesses, period: period), cpu: cpu, wakeUps: Int64(latenesses.count))
    }
}
