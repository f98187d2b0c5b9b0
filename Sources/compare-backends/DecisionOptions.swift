internal import ArgumentParser
internal import HostSystem
internal import TimerProbe
internal import TimerResults

/// The baseline and the rules that results are checked against.
struct DecisionOptions: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Earlier results (JSON) of this machine. A table is followed by the changes.",
            valueName: "file"
        )
    )
    var baseline: String?

    @Option(
        name: .customLong("fail-if"),
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Exit with 1 if a figure is beyond a bound, as in 'timerfd.lateness.p99 > 200us', or if a row is later "
                + "than another, as in 'timerfd.p50 later 5% than dispatch', or than it was, as in "
                + "'timerfd@cpu:2.p95 later 20% than baseline'. Exit with 4 if the measurement is too short to "
                + "tell. May be repeated.",
            valueName: "rule"
        ),
        transform: { try Rule.parse($0) }
    )
    var rules: [Rule] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Also write what became of the rules, as a JUnit file.", valueName: "file.xml")
    )
    var junit: String?

    /// Opens the JUnit file; nil if none is wanted.
    func openFile(besides output: OutputOptions) throws -> OutputFile? {
        try output.checkNames(with: junit.map { [("--junit", $0)] } ?? [])
        return try junit.map { try Output.open($0) }
    }

    /// The report of the baseline, which must answer the same question. If it is of another machine, its rules are
    /// undecided.
    func loadBaseline(for plan: MeasurementPlan) throws -> Report? {
        guard let baseline else { return nil }
        let results = try SavedResults.load(baseline)
        if let difference = results.options.difference(from: plan.options) {
            throw Exit.invalid("the baseline \(baseline) answers another question: \(difference)")
        }
        return Report(results)
    }
}
