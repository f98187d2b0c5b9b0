internal import ArgumentParser
internal import PreciseTimer
internal import TimerProbe
internal import TimerReport
internal import TimerResults

/// Measures and prints.
struct Run: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure (the default).",
        discussion: """
            After a warm-up, each round measures every row in short turns, in a shuffled order. So a disturbance of \
            the machine hits all rows alike. Bare loops of system calls take turns, too: they are the floor that the \
            rows are compared with.

            Write lengths of time as 500ns, 250us, 1ms, 1.5s or 5m.
            """
    )

    @OptionGroup(title: "What to measure")
    var measurement: MeasurementOptions

    @OptionGroup(title: "What to write")
    var output: OutputOptions

    @OptionGroup(title: "What to check")
    var decision: DecisionOptions

    func validate() throws {
        try MeasurementPlan.validate { try measurement.plan(for: measurement.backends ?? [.timerFD]) }
    }

    func run() throws {
        var console = Console(isQuiet: measurement.quiet)
        let plan = try measurement.plan(for: Backends.measured(measurement.backends, on: measurement.clock))
        let baseline = try decision.loadBaseline(for: plan)
        try Judgement.check(decision.rules, for: plan.plannedRows.map(\.key), baseline: baseline)
        console.catchInterrupt()
        let files = try output.openFiles()
        for line in Backends.leftOut(measurement.backends, on: measurement.clock) { console.note(line) }
        if Host.Build.current == .debug {
            console.note("this is a debug build; for real figures use swift run -c release compare-backends")
        }
        var measuring = Measuring(plan: plan, ticks: files.ticks)
        measuring.run(&console)
        guard let report = measuring.report else {
            files.discard()
            throw measuring.error(leaving: "no results")
        }
        try output.write(report, to: files, &console)
        if let baseline, output.isForPeople {
            try console.print("\n" + Difference(old: baseline, new: report).description)
        }
        for problem in report.problems { console.say("error: \(problem)") }
        if measuring.isIncomplete { throw measuring.error(leaving: "partial results") }
        guard report.problems.isEmpty else { throw ExitCode.failure }
        let failures = try Judgement(decision.rules, of: report, baseline: baseline).failures
        for failure in failures { console.say("failed: \(failure)") }
        if !failures.isEmpty { throw ExitCode.failure }
    }
}
