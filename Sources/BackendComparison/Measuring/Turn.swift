internal import PreciseTimer
internal import Synchronization

/// The record of a row in one turn.
struct TurnRecord: Hashable, Sendable {
    /// One recording for each timer; none if the row failed.
    var recordings: [Recording]
    /// The kernel's bill; nil if the kernel does not show it.
    var bill: ResourceUsage?
    /// Nanoseconds that threads of this process were ready to run and waited for a processor; nil if the kernel does
    /// not show it.
    var runDelay: UInt64?
    /// The causes of the late ticks; nil if the plan does not ask for them.
    var late: LateTicks?
    /// How the budget limited the row's spinning; nil for a row that does not spin.
    var spin: SpinCuts?
    /// How the system schedules the thread of the first tick; nil without a tick.
    var policy: String?

    /// The first deadline, in nanoseconds on its clock.
    var start: UInt64 { recordings.map(\.deadlines.start.nanoseconds).min() ?? 0 }

    /// Nanoseconds from a period before the first deadline to the last tick: the time over which the cost is spread.
    var elapsed: UInt64 {
        guard let end = recordings.compactMap(\.last?.delivered.nanoseconds).max() else { return 0 }
        return max(end, start) - start + recordings[0].deadlines.period
    }

    /// The ticks of all timers, in the order of their deadlines.
    var points: [Point] {
        let start = start
        let points = recordings.flatMap { recording in
            recording.samples.map { sample in
                Point(time: recording.deadlines[sample.index].nanoseconds - start, lateness: sample.lateness)
            }
        }
        return recordings.count == 1 ? points : points.sorted { $0.time < $1.time }
    }

    /// The lateness of all deadlines in ascending order: a missed deadline is late until the tick that carried it.
    /// Without these, coordinated omission would hide the latest.
    var latenesses: [Int64] {
        recordings.flatMap { recording in
            let period = Int64(recording.deadlines.period)
            return recording.samples.flatMap { sample in
                (0...sample.missed).map { sample.lateness - Int64($0) * period }
            }
        }
        .sorted()
    }

    /// The same turn with a known change of its ticks.
    func changed(by planted: Planted) -> TurnRecord {
        var (random, turn) = (SplitMix64(seed: start), self)
        turn.recordings = recordings.map { $0.changed(by: planted, &random) }
        return turn
    }

    /// The first broken promise of a timer; nil if there is none.
    var problem: String? { recordings.lazy.compactMap(\.problem).first }
}

/// Every tick as a line of comma-separated values.
extension TurnRecord {
    /// The line with the names of the columns.
    static let header = "lap,row,load,timer,index,deadline_ns,wake_lateness_ns,lateness_ns,missed\n"

    /// One line for each tick of a turn, timer by timer, each with its line end. Laps and timers are counted from 1.
    /// Linear.
    func lines(of key: RowKey, lap: Int) -> String {
        recordings.enumerated()
            .flatMap { timer, recording in
                recording.samples.map { sample in
                    "\(lap),\(key.row),\(key.load),\(timer + 1),\(sample.index),"
                        + "\(recording.deadlines[sample.index].nanoseconds),\(sample.wakeLateness),\(sample.lateness),"
                        + "\(sample.missed)\n"
                }
            }
            .joined()
    }
}

/// Records the ticks of one timer in one turn, on any thread.
///
/// Its time is part of every figure. So it has its own kind of lock, an exchange and a store: a lock that inherits
/// priorities took most of the time of a recording. Only the progress reader ever contends with the ticking thread.
@safe final class Probe: Sendable {
    let deadlines: Deadlines
    /// Finds the causes of late ticks; nil if the plan does not ask for them.
    private let watch: LateWatch?
    /// Whether a thread uses the recording. Acquiring and releasing, as a lock: a thread sees what the one before did.
    private let isBusy = Atomic(false)
    /// Whether a tick works on after its recording, at the search for its cause. A tick stores it before it releases
    /// `isBusy`: who sees the last tick also sees this.
    private let isAtWork = Atomic(false)
    /// How the system schedules the thread of the first tick.
    private let firstPolicy = Mutex<String?>(nil)
    // Constant from the initialiser to deinit. Only `withRecording` touches the memory behind it, on one thread at a
    // time. It is a pointer because Swift would check the accesses to a property on every tick.
    private nonisolated(unsafe) let recording: UnsafeMutablePointer<Recording>

    /// Records ticks until so many deadlines are accounted for.
    init(_ deadlines: Deadlines, goal: UInt64, watch: LateWatch? = nil) {
        self.deadlines = deadlines
        self.watch = watch
        unsafe recording = .allocate(capacity: 1)
        unsafe recording.initialize(to: Recording(of: deadlines, goal: goal))
    }

    deinit {
        unsafe recording.deinitialize(count: 1)
        unsafe recording.deallocate()
    }

    private func withRecording<Outcome>(_ body: (inout Recording) -> Outcome) -> Outcome {
        while isBusy.exchange(true, ordering: .acquiring) {
            // Sleeps, so that the other thread gets a processor even if this thread has a higher priority.
            TimerClock.sleep(for: .microseconds(10))
        }
        defer { isBusy.store(false, ordering: .releasing) }
        return unsafe body(&recording.pointee)
    }

    /// Records a tick. Returns whether more ticks are wanted.
    func record(_ arrival: Recording.Arrival) -> Bool {
        recording(at: arrival.delivered) { $0.record(arrival) }
    }

    /// Records a tick of a mechanism that does not name its deadline. Returns whether more ticks are wanted.
    func record(at now: TimerInstant, _ counting: Recording.Counting) -> Bool {
        recording(at: now) { $0.record(at: now, counting) }
    }

    private func recording(at now: TimerInstant, _ record: (inout Recording) -> Void) -> Bool {
        if watch != nil { isAtWork.store(true, ordering: .relaxed) }
        let (more, lateness) = withRecording { recording in
            record(&recording)
            if recording.ticks == 1 { firstPolicy.withLock { $0 = SchedulingPolicy.ofCallingThread } }
            return (!recording.isComplete, recording.samples.last?.lateness)
        }
        if let watch {
            if let lateness { watch.note(lateness: lateness, at: now.nanoseconds) }
            isAtWork.store(false, ordering: .releasing)
        }
        return more
    }

    /// The next deadline that no tick accounts for.
    var nextDeadline: TimerInstant { deadlines[withRecording { $0.accounted }] }

    /// The number of ticks, and whether the recording is complete and nothing works on it any more.
    var progress: (ticks: Int, isComplete: Bool) {
        let (ticks, isComplete) = withRecording { ($0.ticks, $0.isComplete) }
        return (ticks, isComplete && !isAtWork.load(ordering: .acquiring))
    }

    /// How the system schedules the thread of the first tick; nil before it.
    var policy: String? { firstPolicy.withLock(\.self) }

    /// The recording up to now.
    var result: Recording { withRecording { $0 } }
}

/// The ticks of a row in one turn: timers of a backend or a peer, or a reference's loop. Ticks begin at the creation
/// and end with `stop()`.
///
/// Each tick is recorded with the probe of its timer, until the probe wants no more.
protocol Ticking: Sendable {
    /// Why nothing ticks any more; nil if no failure is known, which is the default.
    var failure: (any Error)? { get }

    /// Ends all ticking. No tick begins after it has returned, though one tick may still run.
    func stop()
}

extension Ticking {
    var failure: (any Error)? { nil }
}
