internal import ArgumentParser
internal import PreciseTimer
internal import TimerMeasurement

/// Measures and prints.
struct Run: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure (the default).",
        discussion: """
            After a warm-up every row is measured in every round, in short turns whose order is shuffled, so that what the \
            machine does to one it does to all. Bare loops around system calls take turns with them: the floor that the \
            rows are compared with.

            Lengths of time are written as 500ns, 250us, 1ms, 1.5s or 5m.
            """
    )

    @OptionGroup(title: "What is measured")
    var measurement: MeasurementOptions

    @OptionGroup(title: "What is written")
    var output: OutputOptions

    @OptionGroup(title: "What is decided")
    var decision: DecisionOptions

    func validate() throws { _ = try measurement.plan(for: measurement.backends ?? [.timerFD]) }

    func run() throws {
        var console = Console(isQuiet: measurement.quiet)
        let plan = try measurement.plan(for: Backends.measured(measurement.backends, on: measurement.clock))
        let baseline = try decision.loadBaseline(for: plan)
        try Judgement.check(decision.rules, for: plan.cases.map(\.case), baseline: baseline.map(Report.init))
        console.catchInterrupt()
        let files = try output.openFiles()
        for line in Backends.leftOut(measurement.backends, on: measurement.clock) { console.note(line) }
        if Host.Build.current == .debug {
            console.note("this is a debug build; for real figures use swift run -c release compare-backends")
        }
        var measuring = Measuring(plan: plan, samples: files.samples)
        measuring.run(&console)
        guard let report = measuring.report else {
            files.discard()
            throw measuring.ending(nothing: true)
        }
        try output.write(report, to: files, &console)
        if let baseline, output.isForPeople {
            try console.hand(over: "\n" + Difference(old: Report(baseline), new: report).description)
        }
        for fault in report.faults { console.say("error: \(fault)") }
        if measuring.isFlawed { throw measuring.ending(nothing: false) }
        guard report.faults.isEmpty else { throw ExitCode.failure }
        let failures = try Judgement(decision.rules, of: report, baseline: baseline.map(Report.init)).failures
        for failure in failures { console.say("failed: \(failure)") }
        if !failures.isEmpty { throw ExitCode.failure }
    }
}
