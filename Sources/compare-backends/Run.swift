internal import ArgumentParser
internal import BackendComparison
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
            In each lap every row has one short turn, in random order, so a disturbance of the machine affects all \
            rows alike. "Later" and "earlier" hold with 99 % confidence. Lateness covers all deadlines, also missed \
            ones. Ctrl-C stops early and shows the results so far.
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
        let ticks = files.filter { $0.format == .ticks }.map(\.file)
        var failure: (any Error)?
        do { for file in ticks { try file.replace(with: SampleLines.header) } } catch { failure = error }
        let measured = BackendComparison.measure(plan, foreign: foreign) { progress in
            console.show(progress)
        } goesOn: {
            !Interrupt.isRequested && failure == nil
        } turnEnded: { lap, key, turn in
            let lines = ticks.isEmpty ? "" : SampleLines.lines(turn, of: key, lap: lap)
            do { for file in ticks { try file.append(lines) } } catch { failure = error }
        }
        console.clear()
        let (report, rows) = (measured.comparison.report, measured.comparison.report.results.rows)
        failure = failure ?? measured.failure
        if let signal = Interrupt.signal {
            failure = Exit.interrupted(by: signal, leaving: report.rows.isEmpty ? "no lap" : "partial results")
        }
        if failure == nil, let row = rows.first(where: { $0.failure != nil }) {
            failure = Exit.failed("\(row.key) failed: \(row.failure ?? "")")
        }
        guard !report.rows.isEmpty else { throw failure ?? Exit.failed("nothing was measured") }
        try output.finish(report, files, &console, earlier: earlier, failure: failure)
    }
}

/// The command's own error: how it ends if it does not simply return.
struct Exit: Error {
    let code: ExitCode
    /// Printed on standard output: a help text.
    var output = ""
    /// Printed on standard error.
    var message = ""

    // An option or a file makes no sense; a measurement failed; this machine or build has not what the user asked for.
    static func invalid(_ reason: String) -> Exit { Exit(2, reason) }
    static func failed(_ reason: String) -> Exit { Exit(1, reason) }
    static func refused(_ reason: String) -> Exit { Exit(3, reason) }

    /// A signal ended the measurement, which left some results. A shell shows the end by a signal as this code.
    static func interrupted(by signal: Int32, leaving results: String) -> Exit {
        let name = [1: "SIGHUP", 2: "Ctrl-C", 15: "SIGTERM"][signal] ?? "signal \(signal)"
        return Exit(code: ExitCode(128 + signal), message: "stopped by \(name): \(results)")
    }

    /// The reader of the results has closed its pipe, and needs no message. SIGPIPE ends other programs with this code.
    static let unread = Exit(code: ExitCode(141))

    /// The exit for any error.
    init(for error: any Error) {
        let code = CompareBackends.exitCode(for: error)
        switch error {
        case let exit as Exit: self = exit
        case let problem as Problem: self = .invalid("\(problem)")
        case let error as SystemError: self = .failed("\(error)")
        case _ where code == .success: self.init(code: code, output: CompareBackends.fullMessage(for: error))
        case _ where code == .validationFailure: self = .invalid(CompareBackends.message(for: error))
        case is ExitCode: self.init(code: code)
        default: self = Exit(code.rawValue, CompareBackends.message(for: error))
        }
    }

    /// An error in one line that is safe to print: without control characters, and cut after 300 others.
    private init(_ code: Int32, _ reason: String) {
        let clean = reason.inOneLine
        self.init(code: ExitCode(code), message: "error: \(clean.count <= 300 ? clean : clean.prefix(300) + "…")")
    }

    private init(code: ExitCode, output: String = "", message: String = "") {
        (self.code, self.output, self.message) = (code, output, message)
    }

    /// Prints, and ends the process.
    func now() -> Never {
        if !output.isEmpty { print(output) }
        var console = Console()
        if !message.isEmpty { console.say(message) }
        CompareBackends.exit(withError: code)
    }
}
