internal import ArgumentParser
internal import TimerMeasurement

/// What the results are held against.
struct DecisionOptions: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Former results (JSON) of this machine: also print, behind a table, what has changed.",
            valueName: "file"
        )
    )
    var baseline: String?

    @Option(
        name: .customLong("fail-if"),
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Exit with 1 if a figure is beyond a bound, as in 'timerfd.lateness.p99 > 200us' or, of the baseline's, "
                + "'timerfd@cpu:2.lateness.p50 > 1.2x'. May be repeated.",
            valueName: "rule"
        ),
        transform: { try Rule.parse($0) }
    )
    var rules: [Rule] = []

    /// The baseline, of the same question and the same machine.
    func loadBaseline(for plan: MeasurementPlan) throws -> Results? {
        guard let baseline else { return nil }
        let results = try SavedResults.load(baseline)
        let now = Results(hosts: [.current], options: plan.options, rounds: [])
        if let difference = results.difference(from: now) {
            throw ValidationError(
                "the baseline \(baseline) cannot be held against this run: \(difference); measure a new one here, or look at "
                    + "both with compare-backends diff"
            )
        }
        return results
    }
}
