/// A call that scheduled a timer, or many with the same label, whose handler was slow.
struct SlowSite {
    /// How the handler is called.
    enum Way { case inline, onQueue, inTask }

    let label: String?
    let site: CallSite
    let way: Way
    /// The period and the time of the slowest call, in nanoseconds.
    var period: UInt64
    private(set) var longest: UInt64
    private(set) var count: UInt64 = 1
    /// How many deadlines had no tick of their own before these calls.
    private(set) var missed: UInt64
    /// Whether a debug build has warned of it.
    fileprivate var isReported = false

    /// One call of a timer's handler, in nanoseconds.
    init(_ record: Record, _ time: UInt64, missed: UInt64 = 0) {
        label = record.label
        site = record.user.site
        switch record.user.destination {
        case .inline, .mailbox: way = .inline
        case .queue: way = .onQueue
        case .task: way = .inTask
        }
        period = record.timing.leastPeriod
        longest = time
        self.missed = missed
    }

    /// Adds another call.
    fileprivate mutating func add(_ call: SlowSite) {
        count += 1
        missed = missed.saturatingAdding(call.missed)
        if call.longest > longest { (period, longest) = (call.period, call.longest) }
    }
}

/// The first 16 call sites whose handlers were slow.
extension [SlowSite] {
    /// Notes one slow call. O(1).
    mutating func note(_ call: SlowSite) {
        if let known = firstIndex(where: { $0.site == call.site && $0.label == call.label }) {
            self[known].add(call)
        } else if count < 16 {
            append(call)
        }
    }

    /// The sites that a debug build must still report, each at its third slow call: the machine can hold up any
    /// handler once or twice.
    mutating func takeUnreported() -> [SlowSite] {
        indices.compactMap { index in
            guard self[index].count >= 3, !self[index].isReported else { return nil }
            self[index].isReported = true
            return self[index]
        }
    }
}
