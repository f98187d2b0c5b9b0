internal import ArgumentParser
internal import FoundationEssentials
internal import HostSystem
internal import PreciseTimer
internal import TimerProbe
internal import TimerResults

/// Compares this build with another.
struct Against: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Compare this build of compare-backends with another, in one run.",
        discussion: """
            In each lap, each build measures in a process of its own; chance decides which is first. Two separate \
            runs of one program differ by 5 to 15 %, so this is the way to see whether a change made timers later.

            Exit codes: 0 this build is not later than allowed, 1 it is, 4 the measurement is too short to tell.

            Example:
              git worktree add ../before main && swift build -c release --package-path ../before
              swift run -c release compare-backends against ../before/.build/release/compare-backends
            """
    )

    @Argument(help: "The other build of compare-backends.")
    var other: String

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How much later this build may be by p50, and by p95 if there are laps enough. (default: 10%)",
            valueName: "percent"
        ),
        transform: { try Percent.parse($0) }
    )
    var allow = 10.0

    @OptionGroup(title: "What to measure")
    var measurement: MeasurementOptions

    @OptionGroup(title: "What to write")
    var table: TableOptions

    func validate() throws {
        guard !measurement.peers, measurement.references == nil else {
            throw ValidationError("two builds are compared by their backends: leave out --peers and --references")
        }
        try MeasurementPlan.validate { try plan(for: measurement.backends ?? [.timerFD]) }
    }

    func run() throws {
        var console = Console(isQuiet: measurement.quiet)
        let plan = try plan(for: Backends.measured(measurement.backends ?? [.timerFD], on: measurement.clock))
        console.catchInterrupt()
        let github = GitHub()
        // The builds are measured for this command, and not for the job.
        Environment.remove(GitHub.summaryVariable)
        let file = try table.output.map { try Output.open($0) }
        let start = Date.now
        var builds = Builds(other: other, plan: plan, planted: measurement.plant)
        var precision = measurement.precision
        var isWhole = false
        var failure: (any Error)?
        do {
            while builds.laps < plan.laps, !isWhole {
                try builds.measure { progress in
                    console.show(progress, note: precision?.progress ?? "")
                    return !console.isInterrupted
                }
                isWhole = precision?.isEnough(laps: builds.laps) { builds.results(isWhole: false) } ?? false
            }
        } catch {
            failure = error
        }
        console.clear()
        guard var results = builds.results(isWhole: isWhole) else {
            throw failure ?? Exit.failed("nothing was measured")
        }
        results.add(Version.origin(since: start))
        let report = Report(results)
        if let file {
            try file.replace(with: try table.text(of: report) + "\n")
        } else {
            try console.print(try table.text(of: report, on: console))
        }
        github.summarize(report, &console)
        if let failure { throw failure }
        if let note = precision?.note { console.note(note) }
        try judge(report, plan, github, &console)
    }

    private func judge(
        _ report: Report,
        _ plan: MeasurementPlan,
        _ github: GitHub,
        _ console: inout Console
    ) throws {
        let hasTail = report.results.rounds.count >= Ratio.fewestPairs
        let rules = plan.rows.flatMap { row in
            (hasTail ? PairReport.Percentile.allCases : [.p50])
                .map { percentile in
                    Rule.later(row.name, percentile, by: allow / 100, than: .row(RowKey.other + row.name))
                }
        }
        let judgement = try Judgement(rules, of: report, baseline: nil)
        for finding in judgement.findings { console.say(github.annotation(of: finding) ?? finding.line) }
        try judgement.exit()
    }

    private func plan(for backends: [TimerService.Backend]) throws -> MeasurementPlan {
        var measurement = measurement
        measurement.references = []
        return try measurement.plan(for: backends)
    }
}
