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
            runs of one program differ by 5 to 15 %, so this is the way to see whether a change made timers later. \
            Without --backends it compares timerfd. It takes twice as long as run with the same number of laps.

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
            "How much later this build may be by p50. By p95, which is less well known, only a build that is surely "
                + "later fails. (default: 10%)",
            valueName: "percent"
        ),
        transform: { try Percent.parse($0) }
    )
    var allow = 10.0

    @OptionGroup(title: "What to measure")
    var measurement: MeasurementOptions

    @OptionGroup(title: "What to ask of the system")
    var system: SystemOptions

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
        _ = try Grant.asking(for: plan)
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
        builds.originOfOther.map { results.add($0) }
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
        func judgement(_ percentile: PairReport.Percentile) throws -> Judgement {
            let rules = plan.rows.map { row in
                Rule.later(row.name, percentile, by: allow / 100, than: .row(RowKey.other + row.name))
            }
            return try Judgement(rules, of: report, baseline: nil)
        }
        let (middle, tail) = (try judgement(.p50), try judgement(.p95))
        for finding in middle.findings + tail.findings.filter({ $0.outcome == .fail }) {
            console.say(github.annotation(of: finding) ?? finding.line)
        }
        if tail.outcome == .fail { throw ExitCode.failure }
        try middle.exit()
    }

    private func plan(for backends: [TimerService.Backend]) throws -> MeasurementPlan {
        var measurement = measurement
        measurement.references = []
        // Each lap warms up.
        measurement.warmup = measurement.warmup ?? measurement.period * 5
        return try measurement.plan(for: backends, asking: system.wishes)
    }
}
