#if Instrument
internal import ArgumentParser
internal import BackendComparison

/// What to write, and what to check.
struct OutputOptions: ParsableArguments {
    @Option(
        name: .customLong("need"),
        parsing: .unconditionalSingleValue,
        help: .value(
            "need",
            "What you need from some backend, as in 'p99 < 200us, cpu < 2%', or from one row, as in 'timerfd.p50 "
                + "later 5% than dispatch' (or than before.json): at most 5 % later. Exit code 0 if met, 1 if not, 4 "
                + "if undecided. May be repeated. Figures: \(Figure.allCases.map(\.rawValue).joined(separator: ", "))."
        ),
        transform: { try Need.parse($0) }
    )
    var needs: [Need] = []

    @Option(
        name: [.customShort("o"), .customLong("output")],
        parsing: .unconditionalSingleValue,
        help: .value(
            "file",
            "Also write a file: .json, .csv, .md, .html (a page), or ticks.csv (every tick). With -, "
                + "standard output has only the JSON. May be repeated."
        ),
        transform: { try OutputPath($0) }
    )
    var files: [OutputPath] = []

    @Flag(help: "Show every figure with its range.")
    var wide = false

    /// A file that can be written, and what to write.
    typealias Open = (format: OutputPath.Format, file: OutputFile)

    /// Checks the files before a measurement.
    func openFiles() throws -> [Open] {
        for (place, file) in files.enumerated() where files[..<place].contains(where: { $0.path == file.path }) {
            throw Failure.invalid("-o names \(file.path) twice")
        }
        do {
            return try files.filter { !$0.isStandardOutput }.map { ($0.format, try OutputFile($0.path)) }
        } catch {
            throw Failure.invalid("\(error)")
        }
    }

    /// The reports of the files that the needs name.
    func earlier() throws -> [String: Report] {
        let paths = Set(needs.flatMap(\.files))
        return Dictionary(uniqueKeysWithValues: try paths.map { ($0, try Report(file: $0)) })
    }

    /// Judges a report, shows it, and writes it to every file. A file that cannot be written does not stop the others.
    /// Without needs of its own, a report keeps the judgements that were saved with it. They decide no exit code.
    /// Throws why the measurement is incomplete, or the error of a file, or `ExitCode` for a need that is not surely
    /// met.
    func finish(
        _ measured: Report,
        _ open: [Open],
        _ console: inout Console,
        earlier: [String: Report]? = nil,
        failure: (any Error)? = nil
    ) throws {
        var failures = [failure].compactMap(\.self)
        func attempt(_ body: () throws -> Void) { do { try body() } catch { failures.append(error) } }
        var report = measured
        attempt {
            if !needs.isEmpty { report = try measured.judged(by: needs, earlier: earlier ?? self.earlier()) }
        }
        attempt {
            if files.contains(where: \.isStandardOutput) {
                try console.write(try JSONFile.encode(report))
            } else {
                let display = console.results
                try console.print(report.screen(width: display.width, isWide: wide, inColour: display.obeysEscapes))
            }
        }
        for (format, file) in open {
            attempt {
                switch format {
                case .json: try file.replace(with: try JSONFile.encode(report) + "\n")
                case .csv: try file.replace(with: report.csv + "\n")
                case .markdown: try file.replace(with: report.markdown + "\n")
                case .page: try file.replace(with: report.page + "\n")
                case .ticks: break
                }
            }
        }
        for problem in report.problems { console.say("error: \(problem)") }
        // The last is the exit; the others are said before it.
        for other in failures.dropFirst() { console.say(Failure(for: other).message) }
        if let first = failures.first { throw first }
        if !report.problems.isEmpty { throw ExitCode.failure }
        if !needs.isEmpty, report.exitCode != 0 { throw ExitCode(report.exitCode) }
    }
}

/// A file by its name, whose end says what to write into it.
struct OutputPath {
    /// By the end of a name; the first that fits.
    enum Format: String, CaseIterable {
        case ticks = "ticks.csv"
        case json = ".json"
        case csv = ".csv"
        case markdown = ".md"
        case page = ".html"
    }

    let format: Format
    let path: String

    /// Whether this is the standard output. The stream itself is written to: a file that it is would be cut to nothing
    /// if it were opened again, and a socket cannot be.
    var isStandardOutput: Bool { path == "-" }

    init(_ path: String) throws(Failure) {
        if path == "-" || path == "/dev/stdout" {
            (self.path, format) = ("-", .json)
            return
        }
        guard let found = Format.allCases.first(where: { path.lowercased().hasSuffix($0.rawValue) }) else {
            throw .invalid("\(path) must end in .json, .csv, .md, .html or ticks.csv, or be - for JSON")
        }
        (self.path, format) = (path, found)
    }
}
#endif
