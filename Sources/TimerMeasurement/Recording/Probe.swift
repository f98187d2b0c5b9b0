internal import Synchronization
internal import TimerAlarms
package import TimerCore

/// Where the ticks of one timer in one turn are recorded, by whichever thread they come on.
///
/// What it adds to a tick is part of every figure, so it has a lock of its own kind: an exchange and a store, where one that
/// inherits priorities took most of the time. The one who ticks meets no one there but the one who looks at the progress.
@safe
package final class Probe: Sendable {
    /// The deadlines that are to be met.
    package let deadlines: Deadlines
    /// How long the handler works after each tick, in nanoseconds.
    private let work: UInt64
    /// Whether somebody is at the recording.
    private let isBusy = Atomic(false)
    // Constant; what it points to is touched in `withRecording` only, by one thread at a time, and is there from the
    // initialiser to deinit. A pointer, because a property's accesses would be checked on every tick.
    private nonisolated(unsafe) let recording: UnsafeMutablePointer<Recording>

    /// A probe for so many deadlines.
    package init(_ deadlines: Deadlines, goal: UInt64, work: UInt64 = 0) {
        self.deadlines = deadlines
        self.work = work
        unsafe recording = .allocate(capacity: 1)
        unsafe recording.initialize(to: Recording(of: deadlines, goal: goal))
    }

    deinit {
        unsafe recording.deinitialize(count: 1)
        unsafe recording.deallocate()
    }

    private func withRecording<Outcome>(_ body: (inout Recording) -> Outcome) -> Outcome {
        while isBusy.exchange(true, ordering: .acquiring) {
            // Asleep, so that whoever holds it gets a processor even from a thread of a higher priority.
            KernelClock.sleep(for: .microseconds(10))
        }
        defer { isBusy.store(false, ordering: .releasing) }
        return unsafe body(&recording.pointee)
    }

    /// Records a tick, and works for as long as the load wants. Returns whether more are wanted.
    package func record(_ arrival: Recording.Arrival) -> Bool {
        let more = withRecording { recording in
            recording.record(arrival)
            return !recording.isComplete
        }
        if work > 0 { Self.work(from: arrival.delivered, for: work) }
        return more
    }

    /// Records a tick of somebody who only calls, and works for as long as the load wants. Returns whether more are wanted.
    package func record(at now: TimerInstant, _ counting: Recording.Counting) -> Bool {
        let more = withRecording { recording in
            recording.record(at: now, counting)
            return !recording.isComplete
        }
        if work > 0 { Self.work(from: now, for: work) }
        return more
    }

    /// The next deadline that no tick accounts for.
    var nextDeadline: TimerInstant { deadlines[withRecording { $0.accounted }] }

    /// How many ticks have come, and whether that is all.
    var progress: (ticks: Int, isComplete: Bool) { withRecording { ($0.ticks, $0.isComplete) } }

    /// What was recorded.
    package var result: Recording { withRecording { $0 } }

    /// Keeps a processor busy.
    private static func work(from start: TimerInstant, for duration: UInt64) {
        while KernelClock.now(start.clock).nanoseconds &- start.nanoseconds < duration {}
    }
}
