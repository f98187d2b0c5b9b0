/// The ticks of a row that were later than a threshold, counted by their causes.
package struct LateTicks: Codable, Hashable, Sendable {
    /// A reason for at least half of a tick's lateness.
    package enum Cause: String, Codable, CodingKeyRepresentable, CaseIterable, Sendable {
        /// A quota of its control group stopped the process.
        case throttled
        /// The thread was ready to run, and other threads had the processors.
        case waited
        /// The thread was still at work, for instance in a handler.
        case worked
        /// An idle processor needs so long to wake up.
        case idle
        /// Other guests of the host had a processor.
        case stolen
        /// Nothing that the thread's account shows: the host stood still, or another thread passed the tick on late.
        case stalled
        /// The thread had not ticked before, so it had no account to compare with.
        case unseen
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

    /// One line without the row's name: `38 ticks later than 500 µs: 31 waited for a processor, 7 held up …`.
    package var words: String {
        let limit = DurationText.spaced(nanoseconds: threshold)
        guard count > 0 else { return "no tick later than \(limit)" }
        let parts = Cause.allCases.filter { self[$0] > 0 }
            .sorted { self[$0] > self[$1] }
            .map { "\(self[$0]) \($0.words)" }
        return "\(count == 1 ? "1 tick" : "\(count) ticks") later than \(limit): \(parts.joined(separator: ", "))"
    }
}

extension LateTicks.Cause {
    /// The words behind the number of ticks.
    package var words: String {
        switch self {
        case .throttled: "stopped by the quota of the control group"
        case .waited: "waited for a processor"
        case .worked: "waited for the thread's own work"
        case .idle: "waited for an idle processor to wake up"
        case .stolen: "while other guests of the host ran"
        case .stalled: "held up by the host or by another thread"
        case .unseen: "first on their thread"
        }
    }
}
