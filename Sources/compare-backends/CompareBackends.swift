internal import ArgumentParser
internal import PreciseTimer
internal import TimerMeasurement

/// The command: parses, has it measured, prints.
@main
struct CompareBackends: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compare-backends",
        abstract: "Measures how precisely each timer backend ticks on this machine, and at what price.",
        discussion: """
            After a short warm-up every backend is measured in every round, in short turns, so that what the machine \
            does to one it does to all. Two bare loops around system calls take turns with them: the floor that the \
            backends are compared with.

            Lengths of time are written as 500ns, 250us, 1ms, 1.5s or 5m.

            Examples:
              compare-backends
              compare-backends --backends timerfd,dispatch --period 250us
              compare-backends --duration 10s --rounds 5 --format json > results.json

            Exit codes: 0 done, 1 a measurement failed or did not add up, 2 an option makes no sense, \
            3 a backend that was asked for is unavailable, 130 ended by Ctrl-C.
            """
    )

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The backends, as in timerfd,dispatch. By default all that are available; see --list.",
            valueName: "names"
        ),
        transform: BackendNames.parse
    )
    var backends: [TimerService.Backend]?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The time between two deadlines. (default: 1ms)", valueName: "time"),
        transform: { try DurationText.parse($0) }
    )
    var period: Duration = .milliseconds(1)

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How long each row is measured in each round. (default: 700ms)", valueName: "time"),
        transform: { try DurationText.parse($0) }
    )
    var duration: Duration = .milliseconds(700)

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How many rounds are measured after the warm-up. (default: 3)", valueName: "number"),
        transform: RoundNumber.parse
    )
    var rounds = 3

    @Option(parsing: .unconditional, help: "How the results are printed: a table, or JSON and nothing else.")
    var format = OutputFormat.table

    @Flag(help: "List the backends and references, and measure nothing.")
    var list = false

    /// Runs the command, with one line and an exit code of our own for what makes no sense.
    static func main() {
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch {
            Exit(for: error).now()
        }
    }

    func validate() throws {
        _ = try plan(for: backends ?? [])
        if list, format != .table { throw ValidationError("--list has no JSON form; leave --format out") }
    }

    func run() throws {
        var console = Console()
        if list { return try console.hand(over: RowList.text) }
        console.catchInterrupt()
        let plan = try plan(for: backends.map { try available($0) } ?? availableOnes(&console))
        if Host.Build.current == .debug {
            console.say("note: this is a debug build; for real figures use swift run -c release compare-backends")
        }
        try Measuring(plan: plan, format: format).run(&console)
    }

    private func plan(for backends: [TimerService.Backend]) throws -> MeasurementPlan {
        do throws(MeasurementPlan.Refusal) {
            var request = MeasurementPlan.Request(
                rows: Row.of(backends) + Reference.allCases.map { Row(.reference($0)) }
            )
            request.period = period
            request.duration = duration
            request.rounds = rounds
            return try MeasurementPlan(request)
        } catch {
            throw ValidationError(error.description)
        }
    }

    /// Backends that were asked for by name: all of them, or none.
    private func available(_ backends: [TimerService.Backend]) throws -> [TimerService.Backend] {
        for backend in backends {
            if case .unavailable(let reason) = backend.availability {
                throw UnavailableBackend(name: backend.rawValue, reason: reason)
            }
        }
        return backends
    }

    /// Without a choice: what there is, and a word about what there is not.
    private func availableOnes(_ console: inout Console) -> [TimerService.Backend] {
        TimerService.Backend.allCases.filter { backend in
            guard case .unavailable(let reason) = backend.availability else { return true }
            console.say("note: \(backend.rawValue) is left out: \(reason)")
            return false
        }
    }
}
