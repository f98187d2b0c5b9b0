/// The ticks of a row that were later than a threshold, counted by their causes.
package struct LateTicks: Codable, Hashable, Sendable {
    /// A reason for at least half of a tick's lateness.
    package enum Cause: String, Codable, CodingKeyRepresentable, CaseIterable, Sendable {
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
    package let threshold: UInt64
    private var counts: [Cause: Int] = [:]

    package init(threshold: UInt64) { self.threshold = threshold }

    private enum CodingKeys: String, CodingKey {
        case threshold = "threshold_ns"
        case counts = "causes"
    }

    /// The number of late ticks.
    package var count: Int { counts.values.reduce(0, +) }

    package subscript(cause: Cause) -> Int { counts[cause] ?? 0 }

    package mutating func add(_ cause: Cause) { counts[cause, default: 0] += 1 }

    /// Adds the late ticks of a later turn.
    package mutating func add(_ later: LateTicks) { counts.merge(later.counts, uniquingKeysWith: +) }

    /// Whether a measurement can have counted these.
    var isSound: Bool { threshold < 1 << 52 && counts.values.allSatisfy { 0...1 << 40 ~= $0 } }

    /// One line without the row's name: `38 ticks later than 500 µs: 31 ready to run but not yet running, 7 held up …`.
    package var words: String {
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
    package var words: String {
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
