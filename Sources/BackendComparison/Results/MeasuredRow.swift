/// Names one line of the results: a row under a load.
struct RowKey: Hashable, Sendable, CustomStringConvertible {
    /// A backend of the library, a task on the library's executor, the same work written without the library, a loop
    /// that sleeps for its period and so keeps no grid, or a bare loop of system calls.
    enum Kind: String, Codable, Sendable { case backend, executor, peer, relative, bare }

    /// The row's name, as `timerfd`. The second of two equal rows is `timerfd#2`.
    let row: String
    let kind: Kind
    /// The load's name, as `idle` or `cpu:2`.
    let load: String

    init(_ row: String, _ kind: Kind, load: String = RowKey.idle) {
        (self.row, self.kind, self.load) = (row, kind, load)
    }

    /// Whether ticks that are early, or beside their grid, break a promise. Code without the library promises nothing,
    /// and a loop of a task catches up with its deadlines.
    var promises: Bool { kind == .backend || kind == .bare }
    /// Whether the library makes the ticks.
    var isOfLibrary: Bool { kind == .backend || kind == .executor }

    /// The name in needs and messages: `timerfd@cpu:2`, or `timerfd` for an idle load.
    var description: String { Self.name(row, under: load) }

    /// The name of a row under a load.
    static func name(_ row: String, under load: String) -> String { load == idle ? row : "\(row)@\(load)" }

    /// The name of the load that does nothing.
    static let idle = "idle"
    /// The row that all others are compared with: the default backend.
    static let base = "timerfd"
    /// The bare loop that two runs are compared by.
    static let bare = "bare"
}

/// One row as it was measured.
struct MeasuredRow: Hashable, Sendable {
    let key: RowKey
    /// One for each lap, in their order.
    var turns: [Turn] = []
    /// From the row's long stretch; nil if there was none, or if it was too short.
    var drift: StretchDrift?
    /// The lateness over the time of the same stretch; nil if there was none.
    var series: LatenessSeries?
    /// The ticks' own lateness, without the missed deadlines.
    var ticks = SparseHistogram()
    /// From the alarm's thread to the handler.
    var hop = SparseHistogram()
    /// The number of ticks before their deadline.
    var early: UInt64 = 0
    /// The first broken promise of the library, in one line; nil if there is none. A task promises nothing.
    var problem: String?
    /// Why the row was given up, in one line; nil if it was not.
    var failure: String?
    /// The causes of the late ticks; nil if the plan did not ask for them.
    var late: LateTicks?
    /// How the budget limited the row's spinning; nil for a row that does not spin.
    var spin: SpinCuts?

    init(_ key: RowKey) { self.key = key }

    /// The lateness of all deadlines: a missed deadline is late until the tick that carried it. Without them,
    /// coordinated omission would make a row look early that skips what it could not meet.
    var lateness: SparseHistogram { SparseHistogram(sumOf: turns.map(\.lateness)) }

    /// When and why the row was given up; nil if it was not.
    var failureText: String? {
        failure.map { "failed after \(turns.count == 1 ? "1 lap" : "\(turns.count) laps"): \($0)" }
    }

    /// Why the row is no answer, in one line: its failure, and the broken promise; nil if nothing went wrong.
    var obstacle: String? {
        let obstacles = [failureText, problem].compactMap(\.self)
        return obstacles.isEmpty ? nil : obstacles.joined(separator: "; ")
    }
}

/// One row in one lap, after its ticks were counted.
struct Turn: Hashable, Sendable {
    /// Half of the deadlines were served within these nanoseconds.
    let median: UInt64
    /// The lateness of all deadlines.
    let lateness: SparseHistogram
    /// Deadlines that got no tick of their own.
    let missed: UInt64
    /// What the kernel billed, without the threads that wait, show progress or make the load: nanoseconds on a
    /// processor, wake-ups of threads, and how often a thread left its processor. Never negative; nil if the kernel
    /// does not show it.
    let cpu: Int64?
    let wakeUps: Int64?
    let switches: Int64?
    /// Nanoseconds from one period before the first deadline to the last tick.
    let elapsed: UInt64
    /// Nanoseconds that threads of this process were ready to run and waited for a processor; nil if the kernel does
    /// not show it.
    let runDelay: UInt64?

    init(
        median: UInt64,
        lateness: SparseHistogram,
        missed: UInt64,
        cpu: Int64?,
        wakeUps: Int64?,
        switches: Int64?,
        elapsed: UInt64,
        runDelay: UInt64? = 0
    ) {
        (self.median, self.lateness, self.missed) = (median, lateness, missed)
        // The bill is a difference of accounts that the kernel rounds one by one, and a little of nothing may be less.
        (self.cpu, self.wakeUps, self.switches) = (
            cpu.map { max($0, 0) }, wakeUps.map { max($0, 0) }, switches.map { max($0, 0) }
        )
        (self.elapsed, self.runDelay) = (elapsed, runDelay)
    }
}

/// How the budget of a row that spins limited it.
struct SpinCuts: Codable, Hashable, Sendable {
    /// How many deadlines had a shorter spin than the wake-ups needed, because the budget was used up.
    private(set) var cuts: UInt64
    /// Why the row did not spin at all; nil if it may spin.
    private(set) var obstacle: String?

    mutating func add(_ later: SpinCuts) {
        cuts += later.cuts
        obstacle = obstacle ?? later.obstacle
    }
}

/// The ticks of a row that were later than a threshold, counted by their causes.
struct LateTicks: Codable, Hashable, Sendable {
    /// A reason for at least half of a tick's lateness.
    enum Cause: String, Codable, CodingKeyRepresentable, CaseIterable, Sendable {
        /// A quota of its control group stopped the process.
        case throttled
        /// The thread was ready to run, and did not run yet.
        case waited
        /// The thread was still at work after the deadline, for instance in a handler.
        case worked
        /// A guess: other guests of the host had a processor at some time since the late tick before.
        case stolen
        /// A guess: an idle processor may need so long to wake up. Nothing shows whether one had to.
        case idle
        /// Nothing that the thread's account shows: the host stood still, or another thread passed the tick on late.
        case stalled
        /// The thread had not ticked before, so it had no account to compare with.
        case unseen
        /// The kernel does not show the thread's account.
        case unshown
    }

    /// Nanoseconds.
    let threshold: UInt64
    private var counts: [Cause: Int] = [:]

    init(threshold: UInt64) { self.threshold = threshold }

    private enum CodingKeys: String, CodingKey {
        case threshold = "threshold_ns"
        case counts = "causes"
    }

    /// The number of late ticks.
    var count: Int { counts.values.reduce(0, +) }

    subscript(cause: Cause) -> Int { counts[cause] ?? 0 }

    mutating func add(_ cause: Cause) { counts[cause, default: 0] += 1 }

    /// Adds the late ticks of a later turn.
    mutating func add(_ later: LateTicks) { counts.merge(later.counts, uniquingKeysWith: +) }

    /// Whether a measurement can have counted these.
    var isSound: Bool { threshold < 1 << 52 && counts.values.allSatisfy { 0...1 << 40 ~= $0 } }

    /// One line without the row's name: `38 ticks later than 500 µs: 31 ready to run but not yet running, 7 held up …`.
    var words: String {
        let limit = DurationText.spaced(nanoseconds: threshold)
        guard count > 0 else { return "no tick later than \(limit)" }
        let parts = Cause.allCases.filter { self[$0] > 0 }
            .sorted { self[$0] > self[$1] }
            .map { "\(self[$0]) \($0.words)" }
        // The p99 of such a row says more of the start of its turns than of its ticks.
        let start = self[.unseen] > count / 2 ? "; so most of this tail is first ticks" : ""
        let ticks = count == 1 ? "1 tick" : "\(count) ticks"
        return "\(ticks) later than \(limit): \(parts.joined(separator: ", "))\(start)"
    }
}

extension LateTicks.Cause {
    /// The words behind the number of ticks.
    var words: String {
        switch self {
        case .throttled: "stopped by the quota of the control group"
        case .waited: "ready to run but not yet running"
        case .worked: "waited for the thread's own work"
        case .stolen: "maybe other guests of the host, which ran since the previous late tick"
        case .idle: "maybe an idle processor, slow to wake up"
        case .stalled: "delayed by the host or by another thread"
        case .unseen: "first on their thread"
        case .unshown: "with a cause that the kernel does not show"
        }
    }
}
