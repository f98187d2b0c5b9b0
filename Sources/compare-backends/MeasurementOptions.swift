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
            "The references, as in floor-timerfd, or none. By default all available references. Without "
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
        help: ArgumentHelp("The time to measure each row in each round. (default: 300ms)", valueName: "time"),
        transform: { try DurationText.parse($0) }
    )
    var duration: Duration = .milliseconds(300)

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The number of rounds. Fewer than \(Comparing.fewestRounds) cannot show a difference. (default: 12)",
            valueName: "number"
        ),
        transform: { try WholeNumber.parse($0) }
    )
    var rounds = 12

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The time that each row runs before anything counts. (default: 100ms)", valueName: "time"),
        transform: { try DurationText.parse($0) }
    )
    var warmup: Duration = .milliseconds(100)

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
            "Other work on the machine; repeat the option to measure under each load. idle: no other work. cpu:N: N "
                + "spinning threads. handler:TIME: handlers that work for that time. churn:N: N timers a second "
                + "scheduled and cancelled on the same service. pending:N: N far timers in its queue. memory: a "
                + "thread that allocates and frees without pause. (default: idle)",
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

    @Flag(help: "Show no progress and no notes.")
    var quiet = false

    /// The plan that the options ask for.
    func plan(for backends: [TimerService.Backend]) throws -> MeasurementPlan {
        let peers = peers ? Peer.available.map { Row(.peer($0)) } : []
        let rows = Row.of(backends) + peers + (references ?? References.available)
        var request = MeasurementPlan.Request(rows: rows)
        request.period = period
        request.duration = duration
        request.rounds = rounds
        request.warmUp = warmup
        request.timers = timers
        request.delivery = deliver
        request.clock = clock
        request.loads = loads.isEmpty ? [.idle] : loads
        request.seed = seed
        return try MeasurementPlan(request)
    }
}

extension MeasurementPlan {
    /// Checks a plan while the options are parsed, so that the parser reports its problem.
    static func validate(_ plan: () throws -> MeasurementPlan) throws {
        do { _ = try plan() } catch { throw ValidationError("\(error)") }
    }
}
