/// What was asked for. Only results of equal questions can be merged.
package struct Options: Codable, Hashable, Sendable {
    /// The rows' names, in the order of the table.
    package var rows: [String]
    /// Nanoseconds between two deadlines of a timer.
    package var period: UInt64
    /// Nanoseconds that a row is measured at a time.
    package var turn: UInt64
    /// The number of turns of each row.
    package var laps: Int
    /// Nanoseconds that each row runs before anything counts.
    package var warmUp: UInt64
    /// The number of timers that tick at a time.
    package var timers: Int
    /// The place where handlers run: see ``HandlerPlace``.
    package var delivery: String
    /// The clock of the deadlines.
    package var clock: String
    /// The loads' names.
    package var loads: [String]
    /// The seed of the order of the turns.
    package var seed: UInt64
    /// The nanoseconds from which on the causes of late ticks were counted; nil if they were not.
    package var lateThreshold: UInt64?
    /// The options of threads, memory, idling and spinning, as on the command line: `--realtime fifo:80`; nil if there
    /// are none.
    package var system: [String]?

    package init(
        rows: [String],
        period: UInt64,
        turn: UInt64,
        laps: Int,
        warmUp: UInt64,
        timers: Int,
        delivery: String,
        clock: String,
        loads: [String],
        seed: UInt64,
        lateThreshold: UInt64? = nil,
        system: [String]? = nil
    ) {
        self.rows = rows
        self.period = period
        self.turn = turn
        self.laps = laps
        self.warmUp = warmUp
        self.timers = timers
        self.delivery = delivery
        self.clock = clock
        self.loads = loads
        self.seed = seed
        self.lateThreshold = lateThreshold
        self.system = system
    }

    private enum CodingKeys: String, CodingKey {
        case rows
        case period = "period_ns"
        case turn = "turn_ns"
        case laps
        case warmUp = "warmup_ns"
        case timers
        case delivery = "deliver"
        case clock
        case loads
        case seed
        case lateThreshold = "late_threshold_ns"
        case system = "system_options"
    }
}

/// The place where handlers run.
package enum HandlerPlace: String, CaseIterable, Hashable, Sendable {
    /// On the alarm's thread.
    case inline
    /// On a serial Dispatch queue.
    case queue
    /// On the main queue. The main thread does nothing else.
    case main
}
