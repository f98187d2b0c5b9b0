internal import ArgumentParser
internal import FoundationEssentials
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
            In each lap every row has one short turn, in random order, so a disturbance of the machine hits all rows \
            alike. Ranges and "later" are said with 99 % confidence. Lateness is that of all deadlines, also missed \
            ones. Ctrl-C leaves what was measured.
            """
    )

    @OptionGroup
    var measurement: MeasurementOptions

    @OptionGroup
    var output: OutputOptions

    func run() throws {
        var console = Console(isQuiet: measurement.quiet)
        let plan = try measurement.plan()
        let earlier = try output.earlier()
        for need in output.needs { try need.check(for: plan.plannedRows.map(\.key), earlier: earlier) }
        let foreign = try plan.askForWishes()
        let files = try output.openFiles()
        Interrupt.watch()
        console.begin(plan)
        let start = Date.now
        var measurement = Measurement(plan)
        let ticks = output.ticks(files)
        var failure: (any Error)?
        var hasEnded = false
        do {
            try ticks?.replace(with: SampleLines.header)
            hasEnded = try measurement.run { progress in
                console.show(progress)
                return !Interrupt.isRequested && failure == nil
            } turnEnded: { lap, key, turn in
                do { try ticks?.append(SampleLines.lines(turn, of: key, lap: lap)) } catch { failure = error }
            }
        } catch {
            failure = error
        }
        console.clear()
        let host = Host.current
        var results = Results(host: host, origin: Origin(since: start), options: plan.options, rows: measurement.rows)
        (results.machine, results.laps) = (measurement.machine, measurement.laps)
        results.remarks = plan.remarks(foreign: foreign, on: host)
        results.isStopped = !hasEnded
        let hasRows = results.rows.contains { !$0.turns.isEmpty }
        if let signal = Interrupt.signal {
            failure = Exit.interrupted(by: signal, leaving: hasRows ? "partial results" : "no lap")
        }
        if failure == nil, let row = results.rows.first(where: { $0.failure != nil }) {
            failure = Exit.failed("\(row.key) failed: \(row.failure ?? "")")
        }
        guard hasRows else { throw failure ?? Exit.failed("nothing was measured") }
        try output.finish(Report(results), files, &console, earlier: earlier, failure: failure)
    }
}

extension Origin {
    /// The origin of a measurement that ends now.
    init(since start: Date) {
        let seconds = (Date.now.timeIntervalSince(start) * 10).rounded() / 10
        self.init(date: start.formatted(.iso8601), seconds: seconds, version: CompareBackends.version)
    }
}
