package import PreciseTimer
package import TimerResults

/// A checked plan of a measurement. Every plan can be carried out.
///
/// The lateness of a machine changes within milliseconds, for all rows alike. So rows take short turns, each on a fresh
/// service, in an order that is drawn anew for each lap. Then, if two rows are equal, either is as likely the later one
/// of a lap as the other, whatever the machine does.
package struct MeasurementPlan: Hashable, Sendable {
    /// The wishes of a user.
    package struct Request: Hashable, Sendable {
        /// In the order of the table.
        package var rows: [Row]
        package var period: Duration = .milliseconds(1)
        /// How long a row is measured at a time; nil for 20 ms or 20 periods.
        package var turn: Duration?
        /// The number of turns of each row under each load; nil for as many as fit half a minute, up to 150.
        package var laps: Int?
        /// The time for as many laps as fit it; nil for the usual laps.
        package var limit: Duration?
        /// How long each row runs before anything counts.
        package var warmUp: Duration = .milliseconds(100)
        /// The number of timers that tick at a time, their deadlines spread over the period.
        package var timers = 1
        package var delivery = HandlerPlace.inline
        package var clock = TimerClock.suspending
        package var loads = [Load.idle]
        /// The seed of the order of the turns.
        package var seed: UInt64 = 1
        /// Rows whose lateness is stretched by a factor, to test the verdicts.
        package var planted: [String: Double] = [:]
        /// The lateness from which on the measurement finds the cause of a tick's lateness; nil for never.
        package var lateThreshold: Duration?
        /// What is asked of the system, and of rows that spin.
        package var wishes = SystemWishes()
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
    /// The number of deadlines that each timer must account for in a turn.
    package let deadlinesPerTurn: UInt64
    /// The number of turns of each row under each load, after the warm-up.
    package private(set) var laps: Int
    /// How long each row is warmed up under each load.
    package let warmUp: Duration
    /// The number of timers that tick at a time.
    package let timers: Int
    package let delivery: HandlerPlace
    package let clock: TimerClock
    /// The seed of the order of the turns.
    package let seed: UInt64
    /// The factors by which the lateness of some rows is stretched: changes that are known, so that a verdict on
    /// them can be checked.
    package let planted: [String: Double]
    /// The lateness from which on the measurement finds the cause of a tick's lateness; nil for never.
    package let lateThreshold: Duration?
    /// What is asked of the system, and of rows that spin.
    package let wishes: SystemWishes
    /// How long a row may be silent, beyond the time of its deadlines, before it is given up.
    package let patience: Duration

    /// Fewer deadlines have no median to speak of.
    private static let fewestDeadlines: UInt64 = 10
    /// The most deadlines of a row in a turn: each may take a sample of 32 bytes.
    private static let mostDeadlines: UInt64 = 10_000_000
    /// A longer duration is a typing error.
    private static let longestDuration = Duration.seconds(86_400)
    /// The usual turn: as short as the shortest of the machine's moods, and long enough for a median.
    private static let usualTurn = Duration.milliseconds(20)
    private static let usualDeadlines: UInt64 = 20
    /// The usual number of laps: it shows a difference of a tenth.
    private static let usualLaps = 150
    /// The time that the usual laps may take.
    private static let usualTime = Duration.seconds(30)

    /// - Throws: `Problem` if the request makes no sense.
    package init(_ request: Request) throws(Problem) {
        guard !request.rows.isEmpty, !request.loads.isEmpty else {
            throw Problem("there must be a row and a load to measure")
        }
        guard request.period > .zero else { throw Problem("the period must be longer than zero") }
        guard request.timers > 0 else { throw Problem("the timers must be 1 or more, not \(request.timers)") }
        guard request.turn ?? .zero <= Self.longestDuration, request.warmUp <= Self.longestDuration else {
            throw Problem("a turn and the warm-up must be at most a day")
        }
        guard request.lateThreshold ?? .zero <= Self.longestDuration else {
            throw Problem("no tick that counts is later than a day")
        }
        guard request.lateThreshold == nil || request.delivery == .inline else {
            throw Problem("only the thread that ticks knows what held it up: deliver inline to explain late ticks")
        }
        guard request.wishes.spin == nil || request.rows.contains(where: { $0.mechanism == .backend(.hybrid) }) else {
            throw Problem("--maximum-spin and --cpu-budget are for the backend hybrid, which is not measured")
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
        deadlinesPerTurn =
            request.turn.map { max($0, .zero).wholeNanoseconds / period.wholeNanoseconds }
            ?? max(Self.usualTurn.wholeNanoseconds / period.wholeNanoseconds, Self.usualDeadlines)
        laps = request.laps ?? Self.usualLaps
        warmUp = max(request.warmUp, .zero)
        timers = request.timers
        delivery = request.delivery
        clock = request.clock
        seed = request.seed
        planted = request.planted
        lateThreshold = request.lateThreshold.map { max($0, .zero) }
        wishes = request.wishes
        patience = max(request.patience, .zero)
        guard deadlinesPerTurn >= Self.fewestDeadlines else {
            let needed = DurationText.format(nanoseconds: period.wholeNanoseconds)
            throw Problem("a turn must be at least \(Self.fewestDeadlines) periods of \(needed)")
        }
        guard (1...Results.mostLaps).contains(laps) else {
            throw Problem("the laps must be 1 to \(Results.mostLaps), not \(laps)")
        }
        let (turn, isLonger) = period.wholeNanoseconds.multipliedReportingOverflow(by: deadlinesPerTurn)
        guard !isLonger, turn <= Self.longestDuration.wholeNanoseconds else {
            throw Problem("a turn of \(deadlinesPerTurn) periods would take more than a day: ask for a shorter period")
        }
        let (deadlines, overflow) = deadlinesPerTurn.multipliedReportingOverflow(by: UInt64(timers))
        guard !overflow, deadlines <= Self.mostDeadlines, deadlinesOfWarmUp <= Self.mostDeadlines / UInt64(timers)
        else {
            throw Problem(
                "that makes more than \(Self.mostDeadlines) deadlines for each row in a turn: "
                    + "ask for a longer period, a shorter turn or warm-up, or fewer timers"
            )
        }
        if request.laps == nil {
            let most = request.limit == nil ? Self.usualLaps : Results.mostLaps
            let fitting = min(request.limit ?? Self.usualTime, Self.longestDuration) / timeOfLap
            laps = min(most, max(Int(fitting), Ratio.fewestPairs))
        }
    }

    /// The number of laps of a round: as many as give each row a hundred deadlines, so that it has a tail.
    package var lapsPerRound: Int {
        let deadlines = deadlinesPerTurn * UInt64(timers)
        return Int((UInt64(Round.fewestDeadlines) + deadlines - 1) / deadlines)
    }

    /// The number of deadlines of each timer in the warm-up.
    package var deadlinesOfWarmUp: UInt64 { max(warmUp.wholeNanoseconds / period.wholeNanoseconds, 1) }

    /// The expected time of the whole measurement.
    package var expectedTime: Duration {
        let warmUp = (period * deadlinesOfWarmUp - period * deadlinesPerTurn) * plannedRows.count
        return timeOfLap * (laps + 1) + warmUp
    }

    /// The expected time of one lap.
    package var timeOfLap: Duration {
        plannedRows.reduce(.zero) { $0 + period * deadlinesPerTurn + $1.overhead(period: period) }
    }

    /// The order of the rows in a lap, drawn anew for each lap, so that no row always follows the same other row. All
    /// rows under one load follow each other, because they are compared with each other.
    ///
    /// - Parameter lap: from 1; the warm-up is 0.
    /// - Returns: every row under every load, once.
    package func order(inLap lap: Int) -> [PlannedRow] {
        var generator = SplitMix64(seed: seed &+ UInt64(lap) &* 0x9E37_79B9)
        return loads.shuffled(using: &generator)
            .flatMap { load in
                rows.shuffled(using: &generator).map { PlannedRow(row: $0, load: load) }
            }
    }

    /// Whether there are two rows that a reader would compare.
    package var hasPairs: Bool {
        let keys = plannedRows.map(\.key)
        return keys.contains { first in keys.contains { PairReport.isOfInterest(first, $0) } }
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
            turn: period.wholeNanoseconds * deadlinesPerTurn,
            laps: laps,
            warmUp: warmUp.wholeNanoseconds,
            timers: timers,
            delivery: delivery.rawValue,
            clock: clock.rawValue,
            loads: loads.map(\.name),
            seed: seed,
            lateThreshold: lateThreshold?.wholeNanoseconds,
            system: wishes.texts.isEmpty ? nil : wishes.texts
        )
    }
}
