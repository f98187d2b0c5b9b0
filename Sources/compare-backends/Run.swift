internal import ArgumentParser
internal import HostSystem
internal import PreciseTimer
internal import TimerProbe
internal import TimerReport
internal import TimerResults

/// Measures and prints.
struct Run: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure (the default).",
        discussion: """
            After a warm-up, each lap gives every row one short turn, in random order. So a disturbance of the \
            machine hits all rows alike. Bare loops of system calls take turns, too: they are the floor that the \
            rows are compared with.

            Write lengths of time as 500ns, 250us, 1ms, 1.5s, 5m, 2h or 1d.
            """
    )

    @OptionGroup(title: "What to measure")
    var measurement: MeasurementOptions

    @OptionGroup(title: "What to ask of the system")
    var system: SystemOptions

    @OptionGroup(title: "What to write")
    var output: OutputOptions

    @OptionGroup(title: "What to check")
    var decision: DecisionOptions

    func validate() throws {
        try MeasurementPlan.validate { try plan(for: measurement.backends ?? Backends.usual) }
    }

    func run() throws {
        var console = Console(isQuiet: measurement.quiet)
        let plan = try plan(for: Backends.measured(measurement.backends, on: measurement.clock))
        let baseline = try decision.loadBaseline(for: plan)
        try Judgement.check(decision.rules, for: plan.plannedRows.map(\.key), baseline: baseline)
        console.catchInterrupt()
        let junit = try decision.openFile(besides: output)
        let (report, failure): (Report, (any Error)?)
        do {
            (report, failure) = try measurement.results(of: plan, into: output, &console)
        } catch {
            try junit?.replace(with: JUnitFile([], errors: [Exit(for: error).message]).description + "\n")
            throw error
        }
        if let baseline, output.table.isForPeople {
            if let difference = baseline.results.difference(from: report.results) { console.caution(difference) }
            try console.print("\n" + Difference(old: baseline, new: report).description)
        }
        let errors = report.problems + (failure.map { [Exit(for: $0).message] } ?? [])
        let judgement: Judgement
        do {
            judgement = try Judgement(decision.rules, of: report, baseline: baseline)
        } catch {
            // A measurement that ended early may lack a row of a rule. Then its own error says more.
            try junit?.replace(with: JUnitFile([], errors: errors + ["\(error)"]).description + "\n")
            try report.complain(failure, &console)
            throw error
        }
        for finding in judgement.findings where finding.outcome != .pass {
            console.say(GitHub().annotation(of: finding) ?? finding.line)
        }
        try junit?.replace(with: JUnitFile(judgement.findings, errors: errors).description + "\n")
        try report.complain(failure, &console)
        try judgement.exit()
    }

    private func plan(for backends: [TimerService.Backend]) throws -> MeasurementPlan {
        try measurement.plan(for: backends, asking: system.wishes)
    }
}

extension MeasurementOptions {
    /// Measures, and writes the results to every file that was asked for.
    ///
    /// - Parameters:
    ///   - plan: the plan that the options asked for.
    ///   - output: the files.
    ///   - console: shows the progress and the results.
    /// - Returns: the report, and why the measurement is incomplete, or nil.
    /// - Throws: an error if nothing was measured, or if a file could not be written.
    func results(
        of plan: MeasurementPlan,
        into output: OutputOptions,
        _ console: inout Console
    ) throws -> (Report, failure: (any Error)?) {
        guard until == nil || plan.hasPairs else {
            throw Exit.invalid("--until needs two rows that can be compared, as two backends")
        }
        let grants = try Grant.asking(for: plan)
        let files = try output.openFiles()
        for line in Backends.leftOut(backends, on: clock) { console.note(line) }
        if Host.Build.current == .debug {
            console.note("this is a debug build; for real figures use swift run -c release compare-backends")
        }
        var measuring = Measuring(plan: plan, grants: grants, ticks: files.ticks, until: precision)
        measuring.run(&console)
        guard let report = measuring.report else { throw measuring.error(leaving: "no results") }
        try output.write(report, to: files, &console)
        GitHub().summarize(report, &console)
        return (report, measuring.isIncomplete ? measuring.error(leaving: "partial results") : nil)
    }
}

extension Report {
    /// Prints the broken promises of the rows, and throws if there is one or if the measurement is incomplete.
    func complain(_ failure: (any Error)?, _ console: inout Console) throws {
        for problem in problems { console.say(GitHub().annotation(ofError: problem) ?? "error: \(problem)") }
        if let failure { throw failure }
        guard problems.isEmpty else { throw ExitCode.failure }
    }
}

extension Judgement {
    /// Ends the command with the exit code of the outcome, unless the rules have passed.
    func exit() throws {
        switch outcome {
        case .pass: break
        case .undecided: throw ExitCode.undecided
        case .fail: throw ExitCode.failure
        }
    }
}

/// Measures, and finds the causes of late ticks.
struct Explain: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure, and say why the late ticks were late.",
        discussion: """
            After each tick, the thread reads the kernel's account of itself. A late tick waited for a processor, or \
            for the thread's own work, or for an idle processor to wake up; or other guests of the host ran; or else \
            the host or another thread held it up. The cause is what explains at least half of the lateness. The \
            reading is part of the price that the table shows.
            """
    )

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The lateness from which on a tick is late.", valueName: "time"),
        transform: { try DurationText.parse($0) }
    )
    var laterThan: Duration = .microseconds(500)

    @OptionGroup(title: "What to measure")
    var measurement: MeasurementOptions

    @OptionGroup(title: "What to ask of the system")
    var system: SystemOptions

    @OptionGroup(title: "What to write")
    var output: OutputOptions

    func validate() throws {
        try MeasurementPlan.validate { try plan(for: measurement.backends ?? Backends.usual) }
    }

    func run() throws {
        var console = Console(isQuiet: measurement.quiet)
        let plan = try plan(for: Backends.measured(measurement.backends, on: measurement.clock))
        console.catchInterrupt()
        let (report, failure) = try measurement.results(of: plan, into: output, &console)
        try report.complain(failure, &console)
    }

    private func plan(for backends: [TimerService.Backend]) throws -> MeasurementPlan {
        try measurement.plan(for: backends, asking: system.wishes, explaining: laterThan)
    }
}
