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
    /// Whether a handler works.
    private let isAtWork = Atomic(false)
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
        working(from: arrival.delivered) { $0.record(arrival) }
    }

    /// Records a tick of somebody who only calls, and works for as long as the load wants. Returns whether more are wanted.
    package func record(at now: TimerInstant, _ counting: Recording.Counting) -> Bool {
        working(from: now) { $0.record(at: now, counting) }
    }

    private func working(from start: TimerInstant, _ record: (inout Recording) -> Void) -> Bool {
        if work > 0 { isAtWork.store(true, ordering: .relaxed) }
        let more = withRecording { recording in
            record(&recording)
            return !recording.isComplete
        }
        if work > 0 {
            Self.work(from: start, for: work)
            isAtWork.store(false, ordering: .releasing)
        }
        return more
    }

    /// The next deadline that no tick accounts for.
    var nextDeadline: TimerInstant { deadlines[withRecording { $0.accounted }] }

    /// How many ticks have come, and whether that is all, the last handler's work included.
    package var progress: (ticks: Int, isComplete: Bool) {
        let (ticks, isComplete) = withRecording { ($0.ticks, $0.isComplete) }
        return (ticks, isComplete && !isAtWork.load(ordering: .acquiring))
    }

    /// What was recorded.
    package var result: Recording { withRecording { $0 } }

    /// Keeps a processor busy.
    private static func work(from start: TimerInstant, for duration: UInt64) {
        while KernelClock.now(start.clock).nanoseconds &- start.nanoseconds < duration {}
    }
}
