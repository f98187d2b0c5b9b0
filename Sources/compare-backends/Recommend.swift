internal import ArgumentParser
internal import PreciseTimer
internal import TimerCore
internal import TimerMeasurement

/// Which backend to take.
struct Recommend: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Say which backend to take on this machine, and why.",
        discussion: """
            Of the backends that are good enough it is the one that costs least. Without --from they are measured now, which \
            takes half a minute with a period of 1ms.

            Exit code 1: none is good enough.
            """
    )

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The period that is needed, or a rate, as in 60hz. (default: 1ms)", valueName: "time"),
        transform: { try PeriodText.parse($0) }
    )
    var period: Duration?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "99 of 100 deadlines are to be served within this time. Without it, what cannot be told from the best is good "
                + "enough.",
            valueName: "time"
        ),
        transform: { try DurationText.parse($0) }
    )
    var lateness: Duration?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("It is to take no more than so many percent of a processor.", valueName: "percent"),
        transform: { try Percent.parse($0) }
    )
    var cpu: Double?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Take saved results (JSON) instead of measuring.", valueName: "result")
    )
    var from: String?

    @Flag(help: "Show no progress and no notes.")
    var quiet = false

    func validate() throws { _ = try plan(for: []) }

    func run() throws {
        var console = Console(isQuiet: quiet)
        let report = try from.map { try saved($0) } ?? measured(&console)
        let recommendation = Recommendation(
            Recommendation.Wish(lateness: lateness.map { UInt64($0.nanosecondsRoundedUp) }, cpu: cpu),
            from: report
        )
        try console.hand(over: recommendation.description)
        if recommendation.choice == nil { throw ExitCode.failure }
    }

    private func saved(_ path: String) throws -> Report {
        let results = try SavedResults.load(path)
        if let period, UInt64(period.nanosecondsRoundedUp) != results.options.period {
            let measured = DurationText.format(nanoseconds: results.options.period)
            throw ValidationError(
                "\(path) was measured with a period of \(measured): leave --period out, or measure anew"
            )
        }
        let report = Report(results)
        guard report.rows.contains(where: { $0.case.kind == .backend }) else {
            throw ValidationError("\(path) has no backends to choose from")
        }
        return report
    }

    private func measured(_ console: inout Console) throws -> Report {
        for line in Backends.leftOut(nil, on: .suspending) { console.note(line) }
        console.catchInterrupt()
        var measuring = Measuring(plan: try plan(for: Backends.measured(nil, on: .suspending)))
        measuring.run(&console)
        guard !measuring.isFlawed, let report = measuring.report else { throw measuring.ending(nothing: true) }
        return report
    }

    /// As `run` without options, but long enough for the period.
    private func plan(for backends: [TimerService.Backend]) throws -> MeasurementPlan {
        var request = MeasurementPlan.Request(rows: Row.of(backends) + References.available)
        request.period = period ?? .milliseconds(1)
        request.duration = max(.milliseconds(300), request.period <= .seconds(3600) ? request.period * 30 : .zero)
        return try MeasurementPlan.checked(request)
    }
}
