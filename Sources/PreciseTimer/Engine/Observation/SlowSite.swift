/// A call that scheduled a timer, or many with the same label, whose handler was slow.
struct SlowSite {
    /// How many sites are noted.
    static var most: Int { 16 }
    /// How long an inline handler may keep its service's thread, in nanoseconds.
    static var patience: UInt64 { 5_000_000 }

    /// How the handler is called.
    enum Way { case inline, onQueue, inTask }

    let label: String?
    let site: CallSite
    let way: Way
    /// What the slowest call exceeded, and its time, in nanoseconds.
    var period: UInt64
    private(set) var longest: UInt64
    private(set) var count: UInt64 = 1
    /// Whether a debug build has warned of it.
    fileprivate var isReported = false

    /// One call of a timer's handler, which took longer than its period, or than an inline handler may.
    init(_ record: Record, _ time: UInt64, over period: UInt64) {
        label = record.label
        site = record.user.site
        switch record.user.destination {
        case .inline, .mailbox: way = .inline
        case .queue: way = .onQueue
        case .task: way = .inTask
        }
        self.period = period
        longest = time
    }

    /// Adds another call.
    fileprivate mutating func add(_ call: SlowSite) {
        count += 1
        if call.longest > longest { (period, longest) = (call.period, call.longest) }
    }
}

/// The first call sites whose handlers were slow.
extension [SlowSite] {
    /// Notes one slow call. O(1).
    mutating func note(_ call: SlowSite) {
        if let known = firstIndex(where: { $0.site == call.site && $0.label == call.label }) {
            self[known].add(call)
        } else if count < SlowSite.most {
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
