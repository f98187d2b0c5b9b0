internal import ArgumentParser
internal import HostSystem
internal import TimerProbe
internal import TimerReport
internal import TimerResults

/// What to write, and what to check.
struct OutputOptions: ParsableArguments {
    @Option(
        name: .customLong("need"),
        parsing: .unconditionalSingleValue,
        help: .value(
            "need",
            "What you need of any backend, as in 'p99 < 200us, cpu < 2%', or of a row, as in 'timerfd.p50 later 5% "
                + "than dispatch' (or than before.json): at most so much. Exit 0 if met, 1 if not, 4 if undecided. "
                + "May be repeated. Figures: \(Figure.allCases.map(\.rawValue).joined(separator: ", "))."
        ),
        transform: { try Need.parse($0) }
    )
    var needs: [Need] = []

    @Option(
        name: [.customShort("o"), .customLong("output")],
        parsing: .unconditionalSingleValue,
        help: .value(
            "file",
            "Also write a file: .json, .csv, .md, .html (a page), .xml (JUnit), or ticks.csv (every tick). "
                + "May be repeated."
        ),
        transform: { OutputPath(try OutputPath.format(of: $0), $0) }
    )
    var files: [OutputPath] = []

    @Flag(help: "Show every figure with its range.")
    var wide = false

    /// Checks the files before a measurement.
    func openFiles() throws -> [OutputFile] {
        for (place, file) in files.enumerated() where files[..<place].contains(where: { $0.path == file.path }) {
            throw Problem("-o names \(file.path) twice")
        }
        do { return try files.map { try OutputFile($0.path) } } catch { throw Problem("\(error)") }
    }

    /// The file for every tick.
    func ticks(_ open: [OutputFile]) -> OutputFile? { zip(files, open).first { $0.0.format == .ticks }?.1 }

    /// The reports of the files that the needs name.
    func earlier() throws -> [String: Report] {
        let paths = Set(needs.flatMap(\.files))
        return Dictionary(uniqueKeysWithValues: try paths.map { ($0, Report(try SavedResults.load($0))) })
    }

    /// Judges a report, shows it, and writes it to every file. A file that cannot be written does not stop the others.
    /// Without needs of its own, a report keeps the judgements that were saved with it. They decide no exit code.
    /// Throws why the measurement is incomplete, or the error of a file, or `ExitCode` for a need that is not surely
    /// met.
    func finish(
        _ measured: Report,
        _ open: [OutputFile],
        _ console: inout Console,
        earlier: [String: Report]? = nil,
        failure: (any Error)? = nil
    ) throws {
        var failures = [failure].compactMap(\.self)
        var judgements: [Judgement] = []
        do {
            let earlier = try earlier ?? self.earlier()
            judgements = try needs.map { try Judgement($0, of: measured, earlier: earlier) }
        } catch {
            failures.append(error)
        }
        let report = needs.isEmpty ? measured : measured.judged(judgements)
        let shown = report.results.judgements
        let isSilent = files.contains { $0.path == "/dev/stdout" }
        do {
            let screen = Screen(report, width: console.width, isWide: wide, inColour: console.hasColour)
            if !isSilent { try console.print(screen.description) }
            if !isSilent, !shown.isEmpty { try console.print(shown.map(\.lines).joined(separator: "\n")) }
        } catch {
            failures.append(error)
        }
        let errors = report.problems + failures.map { Exit(for: $0).message }.filter { !$0.isEmpty }
        for (file, open) in zip(files, open) {
            do {
                switch file.format {
                case .json: try open.replace(with: try JSONFile.encode(report) + "\n")
                case .csv: try open.replace(with: "\(CSVTable(report))\n")
                case .markdown: try open.replace(with: "\(MarkdownTable(report))\n")
                case .page: try open.replace(with: try Page(report).html + "\n")
                case .junit: try open.replace(with: "\(JUnitFile(shown, errors: errors))\n")
                case .ticks: break
                }
            } catch {
                failures.append(error)
            }
        }
        for problem in report.problems { console.say("error: \(problem)") }
        // The last is the exit; the others are said before it.
        for other in failures.dropFirst() { console.say(Exit(for: other).message) }
        if let first = failures.first { throw first }
        if !report.problems.isEmpty { throw ExitCode.failure }
        let worst = judgements.map(\.outcome).max() ?? .meets
        if worst != .meets { throw ExitCode(worst.exitCode) }
    }
}

/// A file by its name, whose end says what to write into it.
struct OutputPath {
    enum Format { case json, csv, markdown, page, junit, ticks }

    let format: Format
    let path: String

    init(_ format: Format, _ path: String) {
        self.format = format
        self.path = path
    }

    private static let formats: [(end: String, format: Format)] = [
        ("ticks.csv", .ticks), (".json", .json), (".csv", .csv), (".md", .markdown), (".html", .page), (".xml", .junit),
        // For programs that read the results.
        ("/dev/stdout", .json),
    ]

    static func format(of path: String) throws(Problem) -> Format {
        guard let found = formats.first(where: { path.lowercased().hasSuffix($0.end) }) else {
            throw Problem("\(path) must end in .json, .csv, .md, .html, .xml or ticks.csv")
        }
        return found.format
    }
}
