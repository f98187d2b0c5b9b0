internal import ArgumentParser
internal import PreciseTimer
internal import TimerCore
internal import TimerMeasurement

/// What is measured, and how.
struct MeasurementOptions: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The backends, as in timerfd,dispatch; one that is named twice is compared with itself. By default all that "
                + "are available; see compare-backends list.",
            valueName: "names"
        ),
        transform: { try Backends.parse($0) }
    )
    var backends: [TimerService.Backend]?

    @Flag(help: "Also measure what one would write without the library.")
    var peers = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The references, as in floor-timerfd, or none. By default all that are available. Without floor-timerfd "
                + "there are no multiples of the floor.",
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
        help: ArgumentHelp("How long each row is measured in each round. (default: 300ms)", valueName: "time"),
        transform: { try DurationText.parse($0) }
    )
    var duration: Duration = .milliseconds(300)

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How many rounds are measured; fewer than \(Comparing.fewestRounds) tell no two rows apart. (default: 12)",
            valueName: "number"
        ),
        transform: { try WholeNumber.parse($0) }
    )
    var rounds = 12

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How long each row runs before anything counts. (default: 100ms)", valueName: "time"),
        transform: { try DurationText.parse($0) }
    )
    var warmup: Duration = .milliseconds(100)

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How many timers of that period tick at a time, their deadlines spread over it. (default: 1)",
            valueName: "number"
        ),
        transform: { try WholeNumber.parse($0) }
    )
    var timers = 1

    @Option(parsing: .unconditional, help: "Where handlers run: on the alarm's thread, a queue, or the main queue.")
    var deliver = HandlerPlace.inline

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The clock of the deadlines: suspending, continuous or wall, which are CLOCK_MONOTONIC, CLOCK_BOOTTIME and "
                + "CLOCK_REALTIME. Backends that do not have it are left out. (default: suspending)",
            valueName: "clock"
        ),
        transform: { try ClockName.parse($0) }
    )
    var clock = TimerClock.suspending

    @Option(
        name: .customLong("load"),
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "What else goes on; repeat it to measure under each. idle; cpu:N: N spinning threads; handler:TIME: handlers that "
                + "work so long; churn:N: N timers a second scheduled and cancelled on the same service; pending:N: N far "
                + "timers in its queue; memory: a thread that allocates and frees without pause. (default: idle)",
            valueName: "load"
        ),
        transform: { try Load.parse($0) }
    )
    var loads: [Load] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "What the order of the turns is drawn from. (default: another one each time)",
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
        return try MeasurementPlan.checked(request)
    }
}

extension MeasurementPlan {
    /// A plan, or an error that says which option makes no sense.
    static func checked(_ request: Request) throws -> MeasurementPlan {
        do throws(Refusal) { return try MeasurementPlan(request) } catch { throw ValidationError(error.description) }
    }
}
