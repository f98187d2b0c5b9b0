#if Instrument
internal import ArgumentParser
internal import BackendComparison
internal import PreciseTimer

extension HandlerPlace: ExpressibleByArgument {}

/// What to measure.
struct MeasurementOptions: ParsableArguments {
    @Option(
        name: .customLong("rows"),
        parsing: .unconditionalSingleValue,
        help: .value(
            "names",
            "Rows, as in timerfd,task-sleep,bare; a row named twice is compared with itself. Backends: "
                + "\(NamedRow.backends). Without the library: \(NamedRow.peers). The same on its executor: "
                + "\(NamedRow.tasks). Bare system calls: \(NamedRow.bareLoops). "
                + "(default: all backends, task-sleep, sleep-for, bare)"
        ),
        transform: { try NamedRow.parse($0) }
    )
    var rowLists: [[NamedRow]] = []

    @Option(
        parsing: .unconditional,
        help: .value("time", "Time between two deadlines of a timer, or a rate: 250us, 60hz. (default: 1ms)"),
        transform: { try PeriodText.parse($0) }
    )
    var period: Duration = .milliseconds(1)

    @Option(
        parsing: .unconditional,
        help: .value("time", "How long to measure in total. (default: 30s)"),
        transform: { try DurationText.parse($0) }
    )
    var time: Duration = .seconds(30)

    @Option(parsing: .unconditional, help: .value("number", "Number of timers, with deadlines spread over the period."))
    var timers = 1

    @Option(
        name: .customLong("load"),
        parsing: .unconditionalSingleValue,
        help: .value(
            "loads",
            "Other work, as in idle,busy. busy: one spinning program for each processor. cpu:N: N such programs. "
                + "(default: idle)"
        ),
        transform: { try $0.split(separator: ",", omittingEmptySubsequences: false).map { try Load.parse(String($0)) } }
    )
    var loadLists: [[Load]] = []

    @Option(parsing: .unconditional, help: "Where handlers run: the alarm's thread, a queue, or the main queue.")
    var deliver = HandlerPlace.inline

    @Option(
        parsing: .unconditional,
        help: .value("clock", "Clock of the deadlines: suspending, continuous, wall. (default: suspending)"),
        transform: { text in
            guard let clock = TimerClock(rawValue: text) else {
                throw Failure.invalid("the clocks are suspending, continuous, wall")
            }
            return clock
        }
    )
    var clock = TimerClock.suspending

    @Option(
        name: .customLong("thread"),
        parsing: .unconditionalSingleValue,
        help: .value(
            "wishes",
            "What to ask of the system for the ticking threads, as in 'fifo:80 cpu:1 locked idle:0'; also "
                + "slack:50us, slice:1ms, and for hybrid spin:200us, budget:20%. A refusal ends the command."
        ),
        transform: { text in
            _ = try ThreadWishes.parse(text)
            return text
        }
    )
    var wishes: [String] = []

    @Option(
        parsing: .unconditional,
        help: .value("time", "Find out why ticks later than this were late."),
        transform: { try DurationText.parse($0) }
    )
    var why: Duration?

    @Option(parsing: .unconditional, help: .value("number", "Seed of the order of the turns. (default: random)"))
    var seed: UInt64?

    @Flag(help: "Show no progress.")
    var quiet = false

    // For tests, and for `Benchmarks/verdicts`.
    @Option(parsing: .unconditional, help: .hidden) var laps: Int?
    @Option(parsing: .unconditional, help: .hidden) var deadlines: UInt64?
    @Option(parsing: .unconditionalSingleValue, help: .hidden, transform: { try Planted.parse($0) }) var plant:
        [Planted] = []

    /// The plan that the options ask for; without rows in them, of the usual ones. Throws `Failure` if they make no
    /// sense, or if a row that the user named is missing here.
    func plan() throws -> MeasurementPlan {
        var request = try MeasurementPlan.Request(named: rowLists.flatMap(\.self), on: clock)
        request.period = period
        request.time = time
        request.laps = laps
        request.deadlines = deadlines
        request.timers = timers
        request.delivery = deliver
        if !loadLists.isEmpty { request.loads = loadLists.flatMap(\.self) }
        request.seed = seed ?? .random(in: 0..<1 << 32)
        request.planted = plant
        request.why = why
        if !wishes.isEmpty { request.wishes = try ThreadWishes.parse(wishes.joined(separator: " ")) }
        return try MeasurementPlan(request)
    }
}

extension ArgumentHelp {
    /// The help of an option with a value.
    static func value(_ name: String, _ text: String) -> ArgumentHelp { ArgumentHelp("\(text)", valueName: name) }
}
#endif
