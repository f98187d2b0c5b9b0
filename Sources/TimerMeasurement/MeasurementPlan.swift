package import PreciseTimer

/// What is to be measured, checked: whatever a plan says can be carried out.
package struct MeasurementPlan: Hashable, Sendable {
    /// Why there is no such plan.
    package struct Refusal: Error, Hashable, CustomStringConvertible {
        /// One line for whoever asked.
        package let description: String
    }

    /// The backends, in the order of the table.
    package let backends: [TimerService.Backend]
    /// Nanoseconds between two deadlines.
    package let period: UInt64
    /// How long each row is measured in each round, in nanoseconds.
    package let duration: UInt64
    /// How many rounds there are after the warm-up.
    package let rounds: Int

    /// The fewest deadlines that tell anything.
    private static let fewestDeadlines: UInt64 = 10
    /// The most deadlines of a row in a round: each may take a sample of 16 bytes.
    private static let mostDeadlines: UInt64 = 20_000_000
    /// Each round keeps a histogram of a quarter of a megabyte for each row.
    private static let mostRounds = 100
    /// A longer duration is a slip of the keyboard: one day.
    private static let longestDuration: UInt64 = 86_400_000_000_000

    /// A plan, where it makes sense.
    package init(
        backends: [TimerService.Backend],
        period: Duration,
        duration: Duration,
        rounds: Int
    ) throws(Refusal) {
        guard period > .zero else { throw Refusal(description: "the period must be longer than zero") }
        guard (1...Self.mostRounds).contains(rounds) else {
            throw Refusal(description: "the rounds must be 1 to \(Self.mostRounds), not \(rounds)")
        }
        self.backends = backends
        self.period = UInt64(period.nanosecondsRoundedUp)
        self.duration = UInt64(max(duration, .zero).nanosecondsRoundedUp)
        self.rounds = rounds
        guard self.duration <= Self.longestDuration else {
            throw Refusal(description: "the duration must be at most a day")
        }
        guard deadlinesPerRound >= Self.fewestDeadlines else {
            let needed = DurationText.format(nanoseconds: self.period)
            throw Refusal(description: "the duration must be at least \(Self.fewestDeadlines) periods of \(needed)")
        }
        guard deadlinesPerRound <= Self.mostDeadlines else {
            throw Refusal(
                description: "\(deadlinesPerRound) deadlines per row and round are too many (at most "
                    + "\(Self.mostDeadlines)): ask for a longer period or a shorter duration"
            )
        }
    }

    /// All rows, in the order of the table.
    package var rows: [Row] { backends.map(Row.backend) + Reference.allCases.map(Row.reference) }

    /// How many deadlines each row has to account for in each round.
    package var deadlinesPerRound: UInt64 { duration / period }

    /// How many turns a row has in a round: seven, or fewer where a turn would be shorter than 100 ms or 50 periods.
    ///
    /// What the rest of the machine and its host do changes the lateness of everything within seconds, so the rows take
    /// turns faster than that. On a small virtual machine the ratio of the two floors to each other differed by 15 %
    /// from run to run (standard deviation) with one turn of 700 ms, and by 6 % with seven of 100 ms.
    package var turnsPerRound: Int {
        // A period is at most a tenth of the duration, so that 50 of them are no overflow.
        Int(min(max(duration / max(Self.shortestTurn, 50 * period), 1), 7))
    }

    /// How many deadlines a row has to account for in a turn: those of the round, in turns as equal as can be.
    package func deadlines(inTurn turn: Int) -> UInt64 {
        let (all, turns) = (deadlinesPerRound, UInt64(turnsPerRound))
        return all * UInt64(turn + 1) / turns - all * UInt64(turn) / turns
    }

    /// How many deadlines there are in the warm-up: some 100 ms, but no more than in a round.
    var deadlinesOfWarmUp: UInt64 {
        min(max(Self.shortestTurn / period, Self.fewestDeadlines), deadlinesPerRound)
    }

    /// Nanoseconds that a turn lasts at least, where the duration allows it.
    private static let shortestTurn: UInt64 = 100_000_000

    /// The order of the rows in a turn, counted over all rounds: each begins one row further back, so that none is always
    /// first.
    ///
    /// The floor runs in the midst of the backends, for its ratios to them are the better the less time lies between.
    package func order(inTurn turn: Int) -> [Row] {
        var order = backends.map(Row.backend)
        order.insert(Row.floor, at: (order.count + 1) / 2)
        order += rows.filter { !order.contains($0) }
        let first = (order.count - turn % order.count) % order.count
        return Array(order[first...] + order[..<first])
    }
}
