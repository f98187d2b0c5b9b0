/// The first 16 places whose handlers were slow. O(1) for each call.
struct SlowPlaces {
    private(set) var places: [SlowPlace] = []
    private static let most = 16

    init() { places.reserveCapacity(Self.most) }

    /// Notes one slow call.
    mutating func note(_ call: SlowPlace) {
        if let known = places.firstIndex(where: { $0.isSame(as: call) }) {
            places[known].count += 1
            places[known].missed = places[known].missed.saturatingAdding(call.missed)
            if call.longest > places[known].longest {
                (places[known].period, places[known].longest) = (call.period, call.longest)
            }
        } else if places.count < Self.most {
            places.append(call)
        }
    }

    /// The places that a debug build must still report, each at its third slow call: the machine can hold up any
    /// handler once or twice.
    mutating func takeUnreported() -> [SlowPlace] {
        places.indices.compactMap { index in
            guard places[index].count >= 3, !places[index].isReported else { return nil }
            places[index].isReported = true
            return places[index]
        }
    }
}

/// A place in the user's code that scheduled a timer, or many, whose handler was slow.
@safe struct SlowPlace {
    let label: String?
    let file: UnsafePointer<UInt8>
    let line: UInt32
    /// The period and the time of the slowest call, in nanoseconds.
    var period: UInt64
    var longest: UInt64
    var count: UInt64 = 1
    /// How many deadlines had no tick of their own before these calls.
    var missed: UInt64
    let way: Way
    /// Whether a debug build has warned of it.
    var isReported = false

    /// How the handler is called.
    enum Way {
        case inline, onQueue, inTask

        fileprivate init(_ destination: Destination) {
            self =
                switch destination {
                case .inline, .mailbox: .inline
                case .queue: .onQueue
                case .task: .inTask
                }
        }
    }

    /// One call of a timer's handler, in nanoseconds, which exceeded a period.
    init(_ record: Record, _ period: UInt64, _ time: UInt64, missed: UInt64 = 0) {
        label = record.label
        way = Way(record.user.destination)
        self.missed = missed
        unsafe (file, line) = record.storedSite
        self.period = period
        longest = time
    }

    func isSame(as other: SlowPlace) -> Bool {
        unsafe file == other.file && line == other.line && label == other.label
    }

    /// The same call, which exceeded another period.
    func exceeding(_ period: UInt64) -> SlowPlace {
        var copy = self
        copy.period = period
        return copy
    }
}
