package import TimerCore

/// What is to be measured, checked: whatever a plan says can be carried out.
package struct MeasurementPlan: Hashable, Sendable {
    /// Why there is no such plan.
    package struct Refusal: Error, Hashable, CustomStringConvertible {
        /// One line for whoever asked.
        package let description: String
    }

    /// What one asks for.
    package struct Request: Hashable, Sendable {
        /// In the order of the table.
        package var rows: [Row]
        package var period: Duration = .milliseconds(1)
        /// How long each case is measured in each round.
        package var duration: Duration = .milliseconds(300)
        package var rounds = 12
        /// How long each case runs before anything counts.
        package var warmUp: Duration = .milliseconds(100)
        /// How many timers tick at a time, their deadlines spread over the period.
        package var timers = 1
        package var delivery = HandlerPlace.inline
        package var clock = TimerClock.suspending
        package var loads = [Load.idle]
        /// What the order of the turns is drawn from.
        package var seed: UInt64 = 1
        /// How much longer than its deadlines take a row may be silent before it is given up.
        package var patience: Duration = .seconds(5)

        package init(rows: [Row]) { self.rows = rows }
    }

    /// What is measured, in the order of the table.
    package let rows: [Row]
    /// The rows that were asked for and cannot be measured like this.
    package let leftOut: [Remark]
    /// What else goes on.
    package let loads: [Load]
    /// Nanoseconds between two deadlines of a timer.
    package let period: UInt64
    /// How long each case is measured in each round, in nanoseconds.
    package let duration: UInt64
    /// How many rounds there are after the warm-up.
    package let rounds: Int
    /// How long each case is warmed up, in nanoseconds.
    package let warmUp: UInt64
    /// How many timers tick at a time.
    package let timers: Int
    /// Where handlers run.
    package let delivery: HandlerPlace
    /// What the deadlines are instants of.
    package let clock: TimerClock
    /// What the order of the turns is drawn from.
    package let seed: UInt64
    /// After how many nanoseconds of silence, beyond what its deadlines take, a row is given up.
    package let patience: UInt64

    /// The fewest deadlines that tell anything.
    private static let fewestDeadlines: UInt64 = 10
    /// The most deadlines of a case in a round: each may take a sample of 32 bytes.
    private static let mostDeadlines: UInt64 = 10_000_000
    /// A result of more rounds is too large to be read.
    private static let mostRounds = 100
    /// More make results that cannot be held against each other in reasonable time.
    static let mostCases = 200
    /// A longer duration is a slip of the keyboard: one day.
    private static let longestDuration: UInt64 = 86_400_000_000_000

    /// A plan, where it makes sense.
    package init(_ request: Request) throws(Refusal) {
        guard !request.rows.isEmpty, !request.loads.isEmpty else {
            throw Refusal(description: "there must be a row and a load to measure")
        }
        guard request.period > .zero else { throw Refusal(description: "the period must be longer than zero") }
        guard (1...Self.mostRounds).contains(request.rounds) else {
            throw Refusal(description: "the rounds must be 1 to \(Self.mostRounds), not \(request.rounds)")
        }
        guard request.timers > 0 else {
            throw Refusal(description: "the timers must be 1 or more, not \(request.timers)")
        }
        let period = UInt64(request.period.nanosecondsRoundedUp)
        var known: Set<Row> = []
        let asked = request.rows.filter { known.insert($0).inserted }
        let obstacles = asked.map { ($0, $0.obstacle(period: period, clock: request.clock)) }
        rows = obstacles.filter { $0.1 == nil }.map(\.0)
        leftOut = obstacles.compactMap { row, obstacle in
            obstacle.map { Remark(asked: row.name, obtained: "left out", reason: $0) }
        }
        if let first = leftOut.first, rows.isEmpty { throw Refusal(description: "\(first)") }
        var seen: Set<Load> = []
        loads = request.loads.filter { seen.insert($0).inserted }
        guard rows.count * loads.count <= Self.mostCases else {
            throw Refusal(
                description: "\(rows.count) rows under \(loads.count) loads are more than \(Self.mostCases) cases"
            )
        }
        self.period = period
        duration = UInt64(max(request.duration, .zero).nanosecondsRoundedUp)
        rounds = request.rounds
        warmUp = UInt64(max(request.warmUp, .zero).nanosecondsRoundedUp)
        timers = request.timers
        delivery = request.delivery
        clock = request.clock
        seed = request.seed
        patience = UInt64(max(request.patience, .zero).nanosecondsRoundedUp)
        guard duration <= Self.longestDuration, warmUp <= Self.longestDuration else {
            throw Refusal(description: "the duration and the warm-up must be at most a day")
        }
        guard deadlinesPerRound >= Self.fewestDeadlines else {
            let needed = DurationText.format(nanoseconds: period)
            throw Refusal(description: "the duration must be at least \(Self.fewestDeadlines) periods of \(needed)")
        }
        let (deadlines, overflow) = deadlinesPerRound.multipliedReportingOverflow(by: UInt64(timers))
        guard !overflow, deadlines <= Self.mostDeadlines, deadlinesOfWarmUp <= Self.mostDeadlines / UInt64(timers)
        else {
            throw Refusal(
                description: "that makes more than \(Self.mostDeadlines) deadlines for each row in a round: ask for a "
                    + "longer period, a shorter duration or warm-up, or fewer timers"
            )
        }
    }

    /// How many deadlines each timer has to account for in each round.
    package var deadlinesPerRound: UInt64 { duration / period }

    /// How many turns a case has in a round: seven, or fewer where a turn would be shorter than 100 ms or 50 periods.
    ///
    /// What the rest of the machine and its host do changes the lateness of everything within seconds, so the cases take
    /// turns faster than that. On a small virtual machine the ratio of the two floors to each other differed by 15 %
    /// from run to run (standard deviation) with one turn of 700 ms, and by 6 % with seven of 100 ms.
    package var turnsPerRound: Int {
        // A period is at most a tenth of the duration, so that 50 of them are no overflow.
        Int(min(max(duration / max(Self.shortestTurn, 50 * period), 1), 7))
    }

    /// How many deadlines a timer has to account for in a turn: those of the round, in turns as equal as can be.
    package func deadlines(inTurn turn: Int) -> UInt64 {
        let (all, turns) = (deadlinesPerRound, UInt64(turnsPerRound))
        return all * UInt64(turn + 1) / turns - all * UInt64(turn) / turns
    }

    /// How many deadlines a timer has in the warm-up.
    package var deadlinesOfWarmUp: UInt64 { max(warmUp / period, 1) }

    /// Nanoseconds that all of it is going to take.
    package var expectedTime: UInt64 {
        let deadlines = deadlinesOfWarmUp + deadlinesPerRound * UInt64(rounds)
        let turns = UInt64(rounds * turnsPerRound + 1)
        return cases.reduce(0) { time, planned in
            // What a turn takes more than its deadlines, to begin and to end.
            let more: UInt64 = planned.row.subject == .referee ? 70_000_000 : 8_000_000
            return time + deadlines * period + turns * (more + planned.row.lead(period: period))
        }
    }

    /// Nanoseconds that a turn lasts at least, where the duration allows it.
    private static let shortestTurn: UInt64 = 100_000_000

    /// The order in which the cases take a turn, shuffled anew for each: none is always behind the same other. All rows under
    /// one load follow each other, for a row is held against the others under its load.
    ///
    /// - Parameter turn: counted over all rounds; the warm-up is 0.
    /// - Returns: every case, once.
    package func order(inTurn turn: Int) -> [PlannedCase] {
        var generator = SplitMix64(seed: seed &+ UInt64(turn) &* 0x9E37_79B9)
        return loads.shuffled(using: &generator)
            .flatMap { load in
                rows.shuffled(using: &generator).map { PlannedCase(row: $0, load: load) }
            }
    }

    /// The cases in the order of the table.
    package var cases: [PlannedCase] {
        loads.flatMap { load in rows.map { PlannedCase(row: $0, load: load) } }
    }

    /// What is asked for, as it is saved.
    package var options: Options {
        Options(
            rows: rows.map(\.name),
            period: period,
            duration: duration,
            rounds: rounds,
            warmUp: warmUp,
            timers: timers,
            delivery: delivery.rawValue,
            clock: clock.rawValue,
            loads: loads.map(\.name),
            seed: seed
        )
    }
}
