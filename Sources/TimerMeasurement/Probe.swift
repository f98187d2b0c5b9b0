internal import TimerAlarms
internal import TimerCore

/// Where the ticks of one row in one round are recorded, by whichever thread they come on.
final class Probe: Sendable {
    private let recording: Lock<Recording>

    /// A probe for so many deadlines.
    init(_ deadlines: Deadlines, goal: UInt64) {
        recording = Lock(Recording(of: deadlines, goal: goal))
    }

    /// Records a tick. Returns whether more are wanted.
    func record(_ arrival: Recording.Arrival) -> Bool {
        recording.withLock { recording in
            recording.record(arrival)
            return !recording.isComplete
        }
    }

    /// How many ticks have come, and whether that is all.
    var progress: (ticks: Int, isComplete: Bool) { recording.withLock { ($0.ticks, $0.isComplete) } }

    /// What was recorded.
    var result: Recording { recording.withLock { $0 } }
}
