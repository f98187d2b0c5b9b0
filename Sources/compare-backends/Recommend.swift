internal import ArgumentParser
internal import PreciseTimer
internal import TimerProbe
internal import TimerResults

/// Recommends a backend.
struct Recommend: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Recommend a backend for this machine, with reasons.",
        discussion: """
            Recommends the cheapest of the backends that are good enough. Without --from it measures them now, \
            which takes half a minute with a period of 1ms.

            Exit code 1: no backend is good enough.
            """
    )

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The period of your timers, or a rate, as in 60hz. (default: 1ms)", valueName: "time"),
        transform: { try PeriodText.parse($0) }
    )
    var period: Duration?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Maximum 99th-percentile lateness. Without it, a backend is good enough if it is hardly "
                + "distinguishable from the best.",
            valueName: "time"
        ),
        transform: { try DurationText.parse($0) }
    )
    var lateness: Duration?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Maximum CPU use, in percent of one processor.", valueName: "percent"),
        transform: { try Percent.parse($0) }
    )
    var cpu: Double?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Use saved results (JSON) instead of measuring.", valueName: "result")
    )
    var from: String?

    @Flag(help: "Show no progress and no notes.")
    var quiet = false

    func validate() throws { try MeasurementPlan.validate { try plan(for: [.timerFD]) } }

    func run() throws {
        var console = Console(isQuiet: quiet)
        let report = try from.map { try saved($0) } ?? measured(&console)
        let wish = Recommendation.Wish(lateness: lateness?.wholeNanoseconds, cpu: cpu)
        let recommendation = Recommendation(wish, from: report)
        try console.print(recommendation.description)
        if recommendation.choices.isEmpty { throw ExitCode.failure }
    }

    private func saved(_ path: String) throws -> Report {
        let results = try SavedResults.load(path)
        if let period, period.wholeNanoseconds != results.options.period {
            let measured = DurationText.format(nanoseconds: results.options.period)
            throw Exit.invalid("\(path) was measured with a period of \(measured): omit --period, or measure again")
        }
        let report = Report(results)
        guard report.rows.contains(where: { $0.key.kind == .backend }) else {
            throw Exit.invalid("\(path) has no backends to choose from")
        }
        return report
    }

    private func measured(_ console: inout Console) throws -> Report {
        for line in Backends.leftOut(nil, on: .suspending) { console.note(line) }
        console.catchInterrupt()
        var measuring = Measuring(plan: try plan(for: Backends.measured(nil, on: .suspending)))
        measuring.run(&console)
        guard !measuring.isIncomplete, let report = measuring.report else {
            throw measuring.error(leaving: "no results")
        }
        return report
    }

    /// The plan of `run` without options.
    private func plan(for backends: [TimerService.Backend]) throws -> MeasurementPlan {
        var request = MeasurementPlan.Request(rows: Row.of(backends) + References.usual)
        request.period = period ?? .milliseconds(1)
        return try MeasurementPlan(request)
    }
}
