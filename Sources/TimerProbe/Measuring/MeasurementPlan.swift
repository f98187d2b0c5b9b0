package import PreciseTimer
package import TimerResults

/// A checked plan of a measurement. Every plan can be carried out.
package struct MeasurementPlan: Hashable, Sendable {
    /// The wishes of a user.
    package struct Request: Hashable, Sendable {
        /// In the order of the table.
        package var rows: [Row]
        package var period: Duration = .milliseconds(1)
        /// How long each row is measured under each load in each round.
        package var duration: Duration = .milliseconds(300)
        package var rounds = 12
        /// How long each row runs before anything counts.
        package var warmUp: Duration = .milliseconds(100)
        /// The number of timers that tick at a time, their deadlines spread over the period.
        package var timers = 1
        package var delivery = HandlerPlace.inline
        package var clock = TimerClock.suspending
        package var loads = [Load.idle]
        /// The seed of the order of the turns.
        package var seed: UInt64 = 1
        /// How long a row may be silent, beyond the time of its deadlines, before it is given up.
        package var patience: Duration = .seconds(5)

        package init(rows: [Row]) { self.rows = rows }
    }

    /// The measured rows, in the order of the table.
    package let rows: [Row]
    /// The requested rows that cannot be measured in this way.
    package let leftOut: [Remark]
    package let loads: [Load]
    /// The time between two deadlines of a timer, in whole nanoseconds.
    package let period: Duration
    /// How long each row is measured under each load in each round.
    package let duration: Duration
    /// The number of rounds after the warm-up.
    package let rounds: Int
    /// How long each row is warmed up under each load.
    package let warmUp: Duration
    /// The number of timers that tick at a time.
    package let timers: Int
    package let delivery: HandlerPlace
    package let clock: TimerClock
    /// The seed of the order of the turns.
    package let seed: UInt64
    /// How long a row may be silent, beyond the time of its deadlines, before it is given up.
    package let patience: Duration

    /// Fewer deadlines tell nothing.
    private static let fewestDeadlines: UInt64 = 10
    /// The most deadlines of a row in a round: each may take a sample of 32 bytes.
    private static let mostDeadlines: UInt64 = 10_000_000
    /// A result of more rounds is too large to be read.
    private static let mostRounds = 100
    /// A longer duration is a typing error.
    private static let longestDuration = Duration.seconds(86_400)
    /// The shortest turn, if the duration allows it.
    private static let shortestTurn = Duration.milliseconds(100)

    /// - Throws: `Problem` if the request makes no sense.
    package init(_ request: Request) throws(Problem) {
        guard !request.rows.isEmpty, !request.loads.isEmpty else {
            throw Problem("there must be a row and a load to measure")
        }
        guard request.period > .zero else { throw Problem("the period must be longer than zero") }
        guard (1...Self.mostRounds).contains(request.rounds) else {
            throw Problem("the rounds must be 1 to \(Self.mostRounds), not \(request.rounds)")
        }
        guard request.timers > 0 else { throw Problem("the timers must be 1 or more, not \(request.timers)") }
        guard request.duration <= Self.longestDuration, request.warmUp <= Self.longestDuration else {
            throw Problem("the duration and the warm-up must be at most a day")
        }
        let period = Duration.nanoseconds(Int64(request.period.wholeNanoseconds))
        var known: Set<Row> = []
        let asked = request.rows.filter { known.insert($0).inserted }
        let problems = asked.map { ($0, $0.problem(period: period, clock: request.clock)) }
        rows = problems.filter { $0.1 == nil }.map(\.0)
        leftOut = problems.compactMap { row, problem in
            problem.map { Remark(asked: row.name, obtained: "left out", reason: $0) }
        }
        if let first = leftOut.first, rows.isEmpty { throw Problem("\(first)") }
        var seen: Set<Load> = []
        loads = request.loads.filter { seen.insert($0).inserted }
        guard rows.count * loads.count <= Results.mostRows else {
            throw Problem(
                "\(rows.count) rows under \(loads.count) loads are too many: \(Results.mostRows) are the most"
            )
        }
        self.period = period
        duration = max(request.duration, .zero)
        rounds = request.rounds
        warmUp = max(request.warmUp, .zero)
        timers = request.timers
        delivery = request.delivery
        clock = request.clock
        seed = request.seed
        patience = max(request.patience, .zero)
        guard deadlinesPerRound >= Self.fewestDeadlines else {
            let needed = DurationText.format(nanoseconds: period.wholeNanoseconds)
            throw Problem("the duration must be at least \(Self.fewestDeadlines) periods of \(needed)")
        }
        let (deadlines, overflow) = deadlinesPerRound.multipliedReportingOverflow(by: UInt64(timers))
        guard !overflow, deadlines <= Self.mostDeadlines, deadlinesOfWarmUp <= Self.mostDeadlines / UInt64(timers)
        else {
            throw Problem(
                "that makes more than \(Self.mostDeadlines) deadlines for each row in a round: "
                    + "ask for a longer period, a shorter duration or warm-up, or fewer timers"
            )
        }
    }

    /// The number of deadlines that each timer must account for in each round.
    package var deadlinesPerRound: UInt64 { duration.wholeNanoseconds / period.wholeNanoseconds }

    /// The number of turns of a row in a round: seven, or fewer if a turn would be shorter than 100 ms or 50 periods.
    ///
    /// The rest of the machine and its host change the lateness of all rows within seconds, so the rows take turns
    /// faster than that. On a small virtual machine, the ratio of the two floors differed by 15 % from run to run
    /// (standard deviation) with one turn of 700 ms, and by 6 % with seven turns of 100 ms.
    package var turnsPerRound: Int {
        let turn = max(Self.shortestTurn, period * 50)
        return Int(min(max(duration.wholeNanoseconds / turn.wholeNanoseconds, 1), 7))
    }

    /// The number of deadlines that each timer must account for in a turn. The turns of a round are as equal as
    /// possible.
    package func deadlines(inTurn turn: Int) -> UInt64 {
        let (all, turns) = (deadlinesPerRound, UInt64(turnsPerRound))
        return all * UInt64(turn + 1) / turns - all * UInt64(turn) / turns
    }

    /// The number of deadlines of each timer in the warm-up.
    package var deadlinesOfWarmUp: UInt64 { max(warmUp.wholeNanoseconds / period.wholeNanoseconds, 1) }

    /// The expected time of the whole measurement.
    package var expectedTime: Duration {
        let deadlines = deadlinesOfWarmUp + deadlinesPerRound * UInt64(rounds)
        let turns = rounds * turnsPerRound + 1
        return plannedRows.reduce(.zero) { time, planned in
            // The time of a turn beyond that of its deadlines, to begin and to end.
            let more = Duration.milliseconds(planned.row.mechanism == .referee ? 70 : 8)
            return time + period * deadlines + (more + planned.row.lead(period: period)) * turns
        }
    }

    /// The order of the rows in a turn, shuffled anew for each turn, so that no row always follows the same other
    /// row. All rows under one load follow each other, because they are compared with each other.
    ///
    /// - Parameter turn: counted over all rounds; the warm-up is 0.
    /// - Returns: every row under every load, once.
    package func order(inTurn turn: Int) -> [PlannedRow] {
        var generator = SplitMix64(seed: seed &+ UInt64(turn) &* 0x9E37_79B9)
        return loads.shuffled(using: &generator)
            .flatMap { load in
                rows.shuffled(using: &generator).map { PlannedRow(row: $0, load: load) }
            }
    }

    /// Every row under every load, in the order of the table.
    package var plannedRows: [PlannedRow] {
        loads.flatMap { load in rows.map { PlannedRow(row: $0, load: load) } }
    }

    /// The plan as it is saved.
    package var options: Options {
        Options(
            rows: rows.map(\.name),
            period: period.wholeNanoseconds,
            duration: duration.wholeNanoseconds,
            rounds: rounds,
            warmUp: warmUp.wholeNanoseconds,
            timers: timers,
            delivery: delivery.rawValue,
            clock: clock.rawValue,
            loads: loads.map(\.name),
            seed: seed
        )
    }
}
