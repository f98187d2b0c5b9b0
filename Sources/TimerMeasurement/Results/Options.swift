/// What was asked for, as it is saved: results of different questions are not to be merged.
package struct Options: Codable, Hashable, Sendable {
    /// The rows' names, in the order of the table.
    package var rows: [String]
    /// Nanoseconds between two deadlines of a timer.
    package var period: UInt64
    /// How long each case was measured in each round, in nanoseconds.
    package var duration: UInt64
    /// How many rounds were asked for.
    package var rounds: Int
    /// How long each case was warmed up, in nanoseconds.
    package var warmUp: UInt64
    /// How many timers ticked at a time.
    package var timers: Int
    /// Where handlers ran.
    package var delivery: String
    /// What the deadlines were instants of.
    package var clock: String
    /// The loads' names.
    package var loads: [String]
    /// What the order of the turns was drawn from.
    package var seed: UInt64

    package init(
        rows: [String],
        period: UInt64,
        duration: UInt64,
        rounds: Int,
        warmUp: UInt64,
        timers: Int,
        delivery: String,
        clock: String,
        loads: [String],
        seed: UInt64
    ) {
        self.rows = rows
        self.period = period
        self.duration = duration
        self.rounds = rounds
        self.warmUp = warmUp
        self.timers = timers
        self.delivery = delivery
        self.clock = clock
        self.loads = loads
        self.seed = seed
    }

    private enum CodingKeys: String, CodingKey {
        case rows
        case period = "period_ns"
        case duration = "duration_ns"
        case rounds
        case warmUp = "warmup_ns"
        case timers
        case delivery = "deliver"
        case clock
        case loads
        case seed
    }
}
