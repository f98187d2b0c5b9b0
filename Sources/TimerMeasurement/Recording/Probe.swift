internal import TimerAlarms
package import TimerCore

/// Where the ticks of one timer in one turn are recorded, by whichever thread they come on.
package final class Probe: Sendable {
    /// The deadlines that are to be met.
    package let deadlines: Deadlines
    /// How long the handler works after each tick, in nanoseconds.
    private let work: UInt64
    private let recording: Lock<Recording>

    /// A probe for so many deadlines.
    package init(_ deadlines: Deadlines, goal: UInt64, work: UInt64 = 0) {
        self.deadlines = deadlines
        self.work = work
        recording = Lock(Recording(of: deadlines, goal: goal))
    }

    /// Records a tick, and works for as long as the load wants. Returns whether more are wanted.
    package func record(_ arrival: Recording.Arrival) -> Bool {
        let more = recording.withLock { recording in
            recording.record(arrival)
            return !recording.isComplete
        }
        if work > 0 { Self.work(from: arrival.delivered, for: work) }
        return more
    }

    /// Records a tick of somebody who only calls, and works for as long as the load wants. Returns whether more are wanted.
    package func record(at now: TimerInstant, _ counting: Recording.Counting) -> Bool {
        let more = recording.withLock { recording in
            recording.record(at: now, counting)
            return !recording.isComplete
        }
        if work > 0 { Self.work(from: now, for: work) }
        return more
    }

    /// The next deadline that no tick accounts for.
    var nextDeadline: TimerInstant { deadlines[recording.withLock { $0.accounted }] }

    /// How many ticks have come, and whether that is all.
    var progress: (ticks: Int, isComplete: Bool) { recording.withLock { ($0.ticks, $0.isComplete) } }

    /// What was recorded.
    package var result: Recording { recording.withLock { $0 } }

    /// Keeps a processor busy.
    private static func work(from start: TimerInstant, for duration: UInt64) {
        while KernelClock.now(start.clock).nanoseconds &- start.nanoseconds < duration {}
    }
}
