#if Instrument
internal import ArgumentParser
internal import BackendComparison
internal import Glibc

/// Measures and prints.
struct Run: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure (the default).",
        discussion: """
            In each lap every row has one short turn, in random order, so a disturbance of the machine affects all \
            rows alike. "Later" and "earlier" hold with 99 % confidence. Lateness covers all deadlines, also missed \
            ones. In the last third of the time all rows tick at once, which shows their drift. Ctrl-C stops early and \
            shows the results so far.
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
        for need in output.needs { try plan.check(need, earlier: earlier) }
        let foreign = try plan.askForWishes()
        let files = try output.openFiles()
        Interrupt.watch()
        #if !Libevent
        let cure = "the trait Libevent is off. To have it: install libevent-dev, swift package purge-cache and clean"
        if measurement.rowLists.isEmpty, !measurement.quiet { console.say("libevent is left out: \(cure)") }
        #endif
        console.begin(plan)
        let ticks = files.filter { $0.format == .ticks }.map(\.file)
        var failure: (any Error)?
        func write(_ lines: String) {
            do { for file in ticks { try file.append(lines) } } catch { failure = error }
        }
        do { for file in ticks { try file.replace(with: "") } } catch { failure = error }
        let (report, obstacle) = BackendComparison.measure(plan, foreign: foreign, ticks: ticks.isEmpty ? nil : write) {
            console.show($0)
        } goesOn: {
            Interrupt.signal == nil && failure == nil
        }
        console.clear()
        failure = failure ?? obstacle
        if let signal = Interrupt.signal {
            failure = Failure.interrupted(by: signal, leaving: report.isEmpty ? "no lap" : "partial results")
        }
        failure = failure ?? report.failure
        guard !report.isEmpty else { throw failure ?? Failure.failed("nothing was measured") }
        try output.finish(report, files, &console, earlier: earlier, failure: failure)
    }
}

extension Failure {
    /// The reader of the results has closed its pipe, and needs no message. SIGPIPE ends other programs with this code.
    static let unread = Failure(code: 128 + SIGPIPE, "")

    /// A signal ended the measurement, which left some results. A shell shows the end by a signal as this code.
    static func interrupted(by signal: Int32, leaving results: String) -> Failure {
        let name = [1: "SIGHUP", 2: "Ctrl-C", 15: "SIGTERM"][signal] ?? "signal \(signal)"
        return Failure(code: 128 + signal, "stopped by \(name): \(results)")
    }

    /// The failure that an error is. An exit code alone has no words.
    init(for error: any Error) {
        let code = CompareBackends.exitCode(for: error)
        switch error {
        case let failure as Failure: self = failure
        case is ExitCode: self.init(code: code.rawValue, "")
        default:
            let isInvalid = code == .validationFailure
            self.init(code: isInvalid ? 2 : code.rawValue, CompareBackends.message(for: error))
        }
    }

    /// The failure in one line that is safe to print: without control characters, and cut after 300 others.
    var message: String {
        let clean = description.inOneLine
        return (code > 128 ? "" : "error: ") + (clean.count <= 300 ? clean : clean.prefix(300) + "…")
    }
}
#endif
