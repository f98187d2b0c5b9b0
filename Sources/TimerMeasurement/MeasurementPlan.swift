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

    /// How many of them in the warm-up: some 200 ms, but no more than in a round.
    var deadlinesOfWarmUp: UInt64 { min(max(200_000_000 / period, Self.fewestDeadlines), deadlinesPerRound) }

    /// The order of the rows in a round: each round begins one row further on, so that none is always first.
    package func order(inRound round: Int) -> [Row] {
        let first = round % rows.count
        return Array(rows[first...] + rows[..<first])
    }
}
