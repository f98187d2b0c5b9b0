package import PreciseTimer
internal import TimerKernel

/// A checked plan of a measurement. Every plan can be carried out.
///
/// The lateness of a machine changes within milliseconds, for all rows alike. So rows take short turns, each on a fresh
/// service, in a new random order for each lap. Then, if two rows are equal, either is as likely the later one
/// of a lap as the other, whatever the machine does. A drift takes longer to show than a turn, so each row has one
/// long stretch at the end: all rows at the same time, so that each has the whole of it.
package struct MeasurementPlan: Equatable, Sendable {
    /// The wishes of a user.
    package struct Request: Equatable, Sendable {
        /// In the order of the table.
        var rows: [NamedRow]
        package var period: Duration = .milliseconds(1)
        /// The time for everything.
        package var time: Duration = .seconds(30)
        /// The number of laps, instead of a time; then there are no long stretches.
        package var laps: Int?
        /// The deadlines of a row at a time, instead of as many as 20 ms have, and at least 20.
        package var deadlines: UInt64?
        /// The number of timers that tick at a time, their deadlines spread over the period.
        package var timers = 1
        package var delivery = HandlerPlace.inline
        var clock = TimerClock.suspending
        package var loads = [Load.idle]
        /// The seed of the order of the turns.
        package var seed: UInt64 = 1
        /// Changes that are planted into rows, to test the verdicts.
        package var planted: [Planted] = []
        /// The lateness from which on the measurement finds the cause of a tick's lateness; nil for never.
        package var why: Duration?
        /// The options for the threads, and for rows that spin.
        package var wishes = ThreadWishes()
        /// The processors that the process may use.
        var processors = Processors.usable ?? Processors.online
        /// How long a row may be silent, beyond the time of its deadlines, before it is given up.
        var patience: Duration = .seconds(5)

        /// A longer duration is a typing error.
        static let longest = Duration.seconds(86_400)
        /// Foundation's intervals are seconds of type `Double`, and no timer here serves a shorter period.
        static let shortestPeriod = Duration.microseconds(1)
    }

    /// The request, with whole nanoseconds and without repetitions.
    let request: Request
    /// The deadlines of each timer in a turn, and of each row in its long stretch; 0 for no stretch.
    let deadlinesPerTurn: UInt64
    let deadlinesOfStretch: UInt64
    /// The rows whose stretches are at the same time: those under one load, or fewer if so many ticks would be too much
    /// for the machine.
    let stretches: [[PlannedRow]]
    /// Whether a lap before the first one warms up.
    let warmsUp: Bool
    /// The time for laps.
    let timeForLaps: Duration
    /// The number of laps that it has room for.
    let laps: Int

    /// The most deadlines of a row at a time: each takes a sample of 32 bytes.
    private static let mostDeadlines: UInt64 = 10_000_000
    /// The usual turn: as short as the shortest of the machine's moods, and long enough for a median.
    private static let usualTurn = Duration.milliseconds(20)
    private static let usualDeadlines: UInt64 = 20
    /// The part of the time for the long stretches, the longest of them, and the most deadlines in one.
    private static let partForStretches: UInt64 = 3
    private static let longestStretch = Duration.seconds(100)
    private static let mostDeadlinesOfStretch: UInt64 = 1_000_000
    /// The most ticks in a second, for each processor, of the rows that have their stretches at the same time.
    private static let mostTicksPerSecond: UInt64 = 10_000

    /// - Throws: `Failure` if the request makes no sense, or its period is too long for its time.
    package init(_ asked: Request) throws(Failure) {
        var request = asked
        (request.rows, request.loads) = (asked.rows.unique, asked.loads.unique)
        request.period = .nanoseconds(Int64(asked.period.wholeNanoseconds))
        if let reason = Self.obstacle(to: request) { throw .invalid(reason) }
        try request.checkTime()

        let period = request.period.wholeNanoseconds
        let timers = UInt64(request.timers)
        let groups = Self.groups(of: request)
        // A third of the time, if that is enough for a drift.
        let room = request.time.wholeNanoseconds / Self.partForStretches / UInt64(groups.count)
        let stretch = min(room, Self.longestStretch.wholeNanoseconds) / period
        // Laps come first: one must fit beside the stretches.
        let beside = StretchRun.timeBesideDeadlines(request.period) * groups.count
        let hasRoom = request.timeOfLap(request.deadlines ?? 1) <= request.time * 2 / 3 - beside
        let hasStretch = request.laps == nil && stretch >= StretchDrift.deadlines && hasRoom
        deadlinesOfStretch = hasStretch ? min(stretch, Self.mostDeadlinesOfStretch) : 0
        stretches = hasStretch ? groups : []
        timeForLaps = request.time - (hasStretch ? request.period * deadlinesOfStretch * groups.count + beside : .zero)
        // So many that eight laps fit, and the lap before them that warms up. In a very short time, one lap.
        let most = min(
            timeForLaps.wholeNanoseconds / UInt64(request.turns) / UInt64(Ratio.fewest + 1) / period,
            request.mostDeadlines(in: timeForLaps)
        )
        let usual = max(Self.usualTurn.wholeNanoseconds / period, Self.usualDeadlines)
        deadlinesPerTurn =
            request.deadlines ?? (request.laps == nil ? max(min(usual, most), 1) : usual)
        let (deadlines, isMore) = deadlinesPerTurn.multipliedReportingOverflow(by: timers)
        guard !isMore, deadlines <= Self.mostDeadlines else { throw .invalid(Self.tooManyDeadlines) }
        self.request = request
        let lap = request.timeOfLap(deadlinesPerTurn)
        // With a long period, a lap is worth more than a warm-up.
        warmsUp = request.laps != nil || lap * 10 < request.time
        laps = request.laps ?? min(max(Int(timeForLaps / lap) - (warmsUp ? 1 : 0), 1), Results.mostLaps)
    }

    /// The rows under each load, in groups of nearly equal size whose ticks are not too many.
    private static func groups(of request: Request) -> [[PlannedRow]] {
        let rows = request.rows
        let ofProcessor = Double(request.period.wholeNanoseconds * mostTicksPerSecond) / 1e9
        let most = max(ofProcessor * Double(max(request.processors, 1)), 1)
        let count = (rows.count - 1) / Int(min(most, 1e6)) + 1
        return request.loads.flatMap { load in
            (0..<count)
                .map { group in
                    rows[rows.count * group / count..<rows.count * (group + 1) / count]
                        .map { PlannedRow(row: $0, load: load) }
                }
        }
    }

    private static let tooManyDeadlines =
        "that makes more than \(mostDeadlines) deadlines for a row at a time: ask for a longer period or fewer timers"

    /// Why a request makes no sense, whatever its period and its time; nil if it does.
    private static func obstacle(to request: Request) -> String? {
        let hasHybrid = request.rows.contains { $0.backend == .hybrid }
        let longest = max(request.period, request.time, request.why ?? .zero)
        let demands: [(isMet: Bool, words: String)] = [
            (!request.rows.isEmpty && !request.loads.isEmpty, "there must be a row and a load"),
            (request.period >= Request.shortestPeriod, "the period must be 1us or longer"),
            (longest <= Request.longest, "a period, a time and a lateness must be at most a day"),
            (request.time > .zero, "the time must be longer than zero"),
            (request.timers > 0, "the timers must be 1 or more, not \(request.timers)"),
            (
                request.why == nil || request.delivery == .inline,
                "only the thread that ticks knows what held it up: --why needs --deliver inline"
            ),
            (
                !request.wishes.wishesSpin || hasHybrid,
                "only hybrid spins: --thread spin: and budget: need it among the rows"
            ),
            ((1...Results.mostLaps).contains(request.laps ?? 1), "the laps must be 1 to \(Results.mostLaps)"),
            ((1...mostDeadlines).contains(request.deadlines ?? 1), tooManyDeadlines),
            (request.turns <= Results.mostRows, "\(request.turns) rows are too many: \(Results.mostRows) are the most"),
        ]
        return demands.first { !$0.isMet }?.words
    }

    /// Every row under every load once, in a new random order for each lap (from 1; the one that warms up is
    /// 0), so that no row always follows the same other row. All rows under one load follow each other, because they
    /// are compared.
    func order(inLap lap: Int) -> [PlannedRow] {
        var generator = SplitMix64(seed: request.seed &+ UInt64(lap) &* 0x9E37_79B9)
        return request.loads.shuffled(using: &generator)
            .flatMap { load in request.rows.shuffled(using: &generator).map { PlannedRow(row: $0, load: load) } }
    }

    /// Asks the system for what the threads shall get. Returns the names of the rows whose threads are not the
    /// library's, which get none of it. Throws `Failure` if the system refuses it, or if it makes no sense.
    package func askForWishes() throws -> [String] { try request.wishes.ask(for: request.rows, clock: request.clock) }

    /// Every row under every load, in the order of the table.
    var plannedRows: [PlannedRow] {
        request.loads.flatMap { load in request.rows.map { PlannedRow(row: $0, load: load) } }
    }

    /// Checks that a need can be applied to these rows: see ``Need/check(for:earlier:)``.
    package func check(_ need: Need, earlier: [String: Report]) throws(Failure) {
        try need.check(for: plannedRows.map(\.key), earlier: earlier)
    }

    /// The plan as it is saved.
    var options: Options {
        let period = request.period.wholeNanoseconds
        var options = Options(period: period, turn: period * deadlinesPerTurn)
        options.stretch = period * deadlinesOfStretch
        options.timers = request.timers
        options.delivery = request.delivery.rawValue
        options.clock = request.clock.rawValue
        options.seed = request.seed
        options.why = request.why?.wholeNanoseconds
        options.thread = request.wishes.text
        return options
    }

    /// Under chrt(1), and in a unit with a real-time policy, some threads inherit it and others do not. Nil if all have
    /// the same.
    private func remarkOnPolicies(_ policies: [String: String]) -> String? {
        let names = request.rows.map(\.name).filter { policies[$0] != nil }
        let groups = Dictionary(grouping: names) { policies[$0] ?? "" }
        guard groups.count > 1 else { return nil }
        let parts = groups.sorted { $0.key < $1.key }.map { "\($0.key) for \($0.value.listed)" }
        return "the rows' threads have different policies, which the table compares: \(parts.joined(separator: "; "))"
    }

    /// What the rows of a plan obtain otherwise than asked, a sentence each without its full stop. The threads of
    /// foreign rows get none of the wishes. The policies are those of the rows' threads.
    func remarks(foreign: [String], policies: [String: String] = [:], on host: Host) -> [String] {
        func remark(_ asked: String, _ isDifferent: (NamedRow) -> Bool, _ obtained: String) -> String? {
            let names = request.rows.filter(isDifferent).map(\.name).joined(separator: ", ")
            return names.isEmpty ? nil : "\(asked): \(obtained) for \(names)"
        }
        let usable = host.usableProcessors ?? host.processors
        var remarks: [String?] = request.loads.map { load in
            guard case .cpu(let programs) = load, programs > usable else { return nil }
            return "--load \(load.name): there are only \(usable) processors for \(programs) programs"
        }
        let (clock, place) = (request.clock, request.delivery)
        remarks.append(remark("--clock \(clock.rawValue)", { $0.clock(asked: clock) != clock }, "suspending"))
        remarks.append(remark("--deliver \(place.rawValue)", { !$0.runs(place) }, "inline"))
        if let text = request.wishes.text, !foreign.isEmpty {
            let names = foreign.joined(separator: ", ")
            remarks.append("--thread '\(text)': not for \(names), whose threads are not the library's")
        }
        if !request.wishes.wishesPolicy { remarks.append(remarkOnPolicies(policies)) }
        if host.build == .debug { remarks.append("this is a debug build: for real figures build with -c release") }
        return remarks.compactMap(\.self)
    }
}

extension MeasurementPlan.Request {
    /// A request of rows that the user named, or else of the usual ones. Throws `Failure` if one is missing here.
    package init(named: [NamedRow], on clock: TimerClock) throws(Failure) {
        let rows = NamedRow.numbered(named.map(\.mechanism))
        for row in rows {
            if let obstacle = row.obstacle(on: clock) { throw .refused("\(row.name) is unavailable: \(obstacle)") }
        }
        self.init(rows: rows.isEmpty ? NamedRow.usual(on: clock) : rows, clock: clock)
    }
}

/// A row under a load, before it is measured.
struct PlannedRow: Hashable, Sendable {
    let row: NamedRow
    let load: Load

    /// The name in the results.
    var key: RowKey { RowKey(row.name, row.kind, load: load.name) }
}

/// How long a measurement takes, and whether that is as long as was asked for.
extension MeasurementPlan {
    /// The expected time of one lap.
    var timeOfLap: Duration { request.timeOfLap(deadlinesPerTurn) }

    /// The expected time of the whole measurement. Without a number of laps in the request, it exceeds the time of the
    /// request by no more than ``Request/allowance``.
    var expectedTime: Duration {
        timeOfLap * (laps + (warmsUp ? 1 : 0))
            + (request.period * deadlinesOfStretch + StretchRun.timeBesideDeadlines(request.period))
            * stretches.count
    }

    /// What will run and how long, in one line.
    package var announcement: String {
        let seconds = Int((expectedTime / .seconds(1)).rounded(.up))
        let (rows, loads) = (request.rows.map(\.name), request.loads.map(\.name))
        return "measuring \(rows.joined(separator: ", ")) under \(loads.joined(separator: ", ")) for \(seconds) s"
    }

    /// Whether to begin a lap (from 1), if so much is left of the time for laps.
    func begins(lap: Int, left: Duration) -> Bool {
        if let laps = request.laps { return lap <= laps }
        // To the nearest lap, unless laps are so long that this is far from the time.
        return lap == 1 || timeOfLap - left <= min(timeOfLap / 2, request.allowance)
    }
}

extension MeasurementPlan.Request {
    /// The number of rows in a lap.
    var turns: Int { rows.count * loads.count }

    /// How much longer than asked a measurement may take.
    var allowance: Duration { max(time / 10, .milliseconds(100)) }

    /// The expected time of a lap whose turns have so many deadlines.
    func timeOfLap(_ deadlines: UInt64) -> Duration { timeBesideDeadlines + period * deadlines * turns }

    /// The time that a lap takes with the shortest period.
    private var timeBesideDeadlines: Duration {
        loads.reduce(.zero) { time, load in
            time + (RowRun.preparation(goal: 0, timers: 1) + load.lead + .milliseconds(2)) * rows.count
        }
    }

    /// The most deadlines of a turn that let one lap end in time; 0 if not even one deadline does.
    func mostDeadlines(in time: Duration) -> UInt64 {
        (time - timeBesideDeadlines).wholeNanoseconds / UInt64(turns) / period.wholeNanoseconds
    }

    /// Refuses a period that is too long for the time: if the shortest lap, of one deadline, takes longer. Says what
    /// would fit.
    func checkTime() throws(Failure) {
        let least = timeOfLap(deadlines ?? 1)
        guard laps == nil, least > time + allowance else { return }
        let left = (time - timeBesideDeadlines) / turns / (deadlines ?? 1)
        let asked = [period, time].map(\.text)
        let fitting = [
            least <= Self.longest ? "measure for \(least.rounded(up: true).text) or longer" : nil,
            left >= Self.shortestPeriod ? "take a period of \(left.rounded(up: false).text) or shorter" : nil,
        ]
        .compactMap(\.self)
        let advice = fitting.isEmpty ? "measure for longer, with a shorter period" : fitting.joined(separator: ", or ")
        let row = rows.count == 1 ? "1 row" : "\(rows.count) rows"
        let load = loads.count == 1 ? "" : " under \(loads.count) loads"
        throw .invalid("a period of \(asked[0]) does not fit into \(asked[1]) with \(row)\(load): \(advice)")
    }
}
