internal import ArgumentParser
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
            "Exit with 1 if a figure is beyond a bound, as in 'timerfd.lateness.p99 > 200us', or beyond a multiple "
                + "of the baseline, as in 'timerfd@cpu:2.lateness.p50 > 1.2x'. May be repeated.",
            valueName: "rule"
        ),
        transform: { try Rule.parse($0) }
    )
    var rules: [Rule] = []

    /// The report of the baseline, which must answer the same question on the same machine.
    func loadBaseline(for plan: MeasurementPlan) throws -> Report? {
        guard let baseline else { return nil }
        let results = try SavedResults.load(baseline)
        let now = Results(hosts: [.current], options: plan.options, rounds: [])
        if let difference = results.difference(from: now) {
            throw Exit.invalid(
                "the baseline \(baseline) cannot be compared with this run: \(difference); measure a new one here, "
                    + "or compare both with compare-backends diff"
            )
        }
        return Report(results)
    }
}
