internal import ArgumentParser
internal import PreciseTimer
internal import TimerProbe
internal import TimerResults

/// What to measure, and how.
struct MeasurementOptions: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The backends, as in timerfd,dispatch. A backend that is named twice is compared with itself. By default "
                + "all available backends; see compare-backends list.",
            valueName: "names"
        ),
        transform: { try Backends.parse($0) }
    )
    var backends: [TimerService.Backend]?

    @Flag(help: "Also measure the same work written without the library.")
    var peers = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The references, as in floor-timerfd, or none. By default the two floors; cyclictest is a third. Without "
                + "floor-timerfd there are no multiples of the floor.",
            valueName: "names"
        ),
        transform: { try References.parse($0) }
    )
    var references: [Row]?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The time between two deadlines of a timer, or a rate, as in 60hz. (default: 1ms)",
            valueName: "time"
        ),
        transform: { try PeriodText.parse($0) }
    )
    var period: Duration = .milliseconds(1)

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The time to measure a row at a time. (default: 20 periods, but at least 20ms)",
            valueName: "time"
        ),
        transform: { try DurationText.parse($0) }
    )
    var turn: Duration?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The number of laps. In a lap each row has a turn, in random order. Fewer than \(Ratio.fewestPairs) show "
                + "no difference. (default: as many as take half a minute, at most 150)",
            valueName: "number"
        ),
        transform: { try WholeNumber.parse($0) }
    )
    var laps: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Go on until every pair's p50 is known this well, as in 5%, or until --limit.",
            valueName: "percent"
        ),
        transform: { try Percent.parse($0) }
    )
    var until: Double?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The longest time for --until. (default: 10m)", valueName: "time"),
        transform: { try DurationText.parse($0) }
    )
    var limit: Duration?

    @Flag(
        help: ArgumentHelp(
            "Measure the drift, too, in turns that are long enough to show it: 3s, and 8 laps. Takes some minutes."
        )
    )
    var drift = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The time that each row runs before anything counts. (default: 100ms; for each lap of against, 5 "
                + "periods)",
            valueName: "time"
        ),
        transform: { try DurationText.parse($0) }
    )
    var warmup: Duration?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The number of timers, whose deadlines are spread over the period. (default: 1)",
            valueName: "number"
        ),
        transform: { try WholeNumber.parse($0) }
    )
    var timers = 1

    @Option(parsing: .unconditional, help: "The place of handlers: the alarm's thread, a queue, or the main queue.")
    var deliver = HandlerPlace.inline

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The clock of the deadlines: suspending, continuous or wall, which are CLOCK_MONOTONIC, CLOCK_BOOTTIME "
                + "and CLOCK_REALTIME. Backends without that clock are left out. (default: suspending)",
            valueName: "clock"
        ),
        transform: { try ClockName.parse($0) }
    )
    var clock = TimerClock.suspending

    @Option(
        name: .customLong("load"),
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Other work on the machine; repeat the option to measure under each load. idle: no other work. busy: as "
                + "many other processes that spin as there are processors; idle is measured, too. cpu:N: N spinning "
                + "threads. handler:TIME: handlers that work for that time. churn:N: N timers a second scheduled and "
                + "cancelled on the same service. pending:N: N far timers in its queue. memory: a thread that "
                + "allocates and frees without pause. (default: idle)",
            valueName: "load"
        ),
        transform: { try Load.parse($0) }
    )
    var loads: [Load] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The seed of the order of the turns. (default: random)",
            valueName: "number"
        ),
        transform: { try WholeNumber.parse($0) }
    )
    var seed: UInt64 = .random(in: 0..<1 << 32)

    /// For `.ci/verdicts`.
    @Option(parsing: .unconditionalSingleValue, help: .hidden, transform: { try Planting.parse($0) })
    var plant: [Planting] = []

    @Flag(help: "Show no progress and no notes.")
    var quiet = false

    /// The plan that the options ask for.
    ///
    /// - Parameters:
    ///   - backends: the backends to measure.
    ///   - wishes: what to ask of the system.
    ///   - lateThreshold: the lateness from which on to find the cause of a tick's lateness; nil for never.
    /// - Returns: a plan that can be carried out.
    /// - Throws: `Problem` if the options make no sense.
    func plan(
        for backends: [TimerService.Backend],
        asking wishes: SystemWishes,
        explaining lateThreshold: Duration? = nil
    ) throws -> MeasurementPlan {
        let peers = peers ? Peer.available.map { Row(.peer($0)) } : []
        let rows = Row.of(backends) + peers + (references ?? References.usual)
        var request = MeasurementPlan.Request(rows: rows)
        request.period = period
        request.turn = turn ?? (drift ? max(Drift.turn, period * Drift.ticks) : nil)
        request.laps = laps ?? (drift && until == nil ? Ratio.fewestPairs : nil)
        if until != nil {
            guard laps == nil else { throw Problem("--until decides the number of laps: leave out --laps") }
            request.limit = limit ?? Self.usualLimit
        } else if limit != nil {
            throw Problem("--limit is the longest time for --until, which is missing")
        }
        if let warmup { request.warmUp = warmup }
        request.timers = timers
        request.delivery = deliver
        request.clock = clock
        // The price of a busy machine shows only beside an idle one.
        request.loads = loads.isEmpty || loads.contains(.busy) ? [.idle] + loads : loads
        request.seed = seed
        request.lateThreshold = lateThreshold
        request.wishes = wishes
        request.planted = Dictionary(plant.map { ($0.row, $0.factor) }) { _, last in last }
        return try MeasurementPlan(request)
    }

    private static let usualLimit = Duration.seconds(600)

    /// What ends the measurement before its last lap; nil for nothing.
    var precision: Precision? { until.map { Precision(wanted: $0 / 100, limit: limit ?? Self.usualLimit) } }
}

extension Drift {
    /// The turn that shows a drift of some parts per million.
    fileprivate static let turn = Duration.seconds(3)
    /// The deadlines of a turn that shows a drift even if some are missed.
    fileprivate static let ticks = 32
}

extension MeasurementPlan {
    /// Checks a plan while the options are parsed, so that the parser reports its problem.
    static func validate(_ plan: () throws -> MeasurementPlan) throws {
        do { _ = try plan() } catch { throw ValidationError("\(error)") }
    }
}
