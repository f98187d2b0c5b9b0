internal import ArgumentParser
internal import HostSystem
internal import TimerReport
internal import TimerResults

/// What to write, and where.
struct OutputOptions: ParsableArguments {
    @OptionGroup
    var table: TableOptions

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Also write a page with pictures, for a browser.", valueName: "file.html")
    )
    var report: String?

    @Option(parsing: .unconditional, help: ArgumentHelp("Also write every tick, as CSV.", valueName: "file"))
    var samples: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Also write an HdrHistogram percentile file (.hgrm) for each row into a folder.",
            valueName: "folder"
        )
    )
    var histograms: String?

    /// The open files.
    struct Files {
        fileprivate let output: OutputFile?
        fileprivate let report: OutputFile?
        let ticks: TickFile?
    }

    /// Checks that no two options name one file.
    ///
    /// - Parameter more: the files of other options.
    /// - Throws: `Exit` for the first two that do.
    func checkNames(with more: [(option: String, path: String)] = []) throws {
        let named =
            [("--output", table.output), ("--report", report), ("--samples", samples)]
            .compactMap { option, path in path.map { (option: option, path: $0) } } + more
        for (place, (option, path)) in named.enumerated() {
            if let (other, _) = named[..<place].first(where: { OutputFile.isSame($0.path, path) }) {
                throw Exit.invalid("\(other) and \(option) name the same file: \(path)")
            }
        }
    }

    /// Checks the files before the measurement.
    func openFiles() throws -> Files {
        try checkNames()
        let files = Files(
            output: try table.output.map { try Output.open($0) },
            report: try report.map { try Output.open($0) },
            ticks: try samples.map { TickFile(try Output.open($0)) }
        )
        if let histograms {
            do { try OutputFile.createFolder(histograms) } catch { throw Exit.invalid("\(error)") }
        }
        return files
    }

    /// Writes a report to every file, the results first. A file that cannot be written does not stop the others.
    func write(_ report: Report, to files: Files, _ console: inout Console) throws {
        var failures: [any Error] = []
        do {
            if let output = files.output {
                try output.replace(with: try table.text(of: report) + "\n")
            } else {
                try console.print(try table.text(of: report, on: console))
            }
        } catch {
            failures.append(error)
        }
        do { try files.report?.replace(with: Page(report).html) } catch { failures.append(error) }
        if let histograms {
            do {
                for file in PercentileFile.all(report) {
                    try OutputFile("\(histograms)/\(file.name)").replace(with: file.text)
                }
            } catch {
                failures.append(error)
            }
        }
        if let failure = failures.first { throw failure }
    }
}

/// The format of the results.
enum OutputFormat: String, CaseIterable, ExpressibleByArgument {
    case table
    case json
    case csv
    case markdown

    /// The format that the end of a file's name asks for; nil for any other name.
    init?(ofFile name: String) {
        let formats: [(end: String, format: OutputFormat)] = [(".json", .json), (".csv", .csv), (".md", .markdown)]
        guard let format = formats.first(where: { name.lowercased().hasSuffix($0.end) })?.format else { return nil }
        self = format
    }
}

/// How to show results.
struct TableOptions: ParsableArguments {
    @Option(
        name: .customLong("format"),
        parsing: .unconditional,
        help: ArgumentHelp(
            "The format of the results. (default: by the name of the output, as in out.json, out.csv or out.md; "
                + "otherwise a table)",
            valueName: "format"
        )
    )
    var askedFormat: OutputFormat?

    @Flag(help: "Show every figure, every pair and every disturbance in the table.")
    var wide = false

    @Flag(help: "Also explain the columns and names of the table.")
    var explain = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Write the results to a file instead of standard output.", valueName: "file")
    )
    var output: String?

    var format: OutputFormat { askedFormat ?? output.flatMap(OutputFormat.init(ofFile:)) ?? .table }

    /// Whether a person reads the results. A program gets nothing but the results.
    var isForPeople: Bool { format == .table && output == nil }

    /// The results for a file.
    func text(of report: Report) throws -> String { try text(of: report, width: 80, inColour: false) }

    /// The results for a terminal.
    func text(of report: Report, on console: Console) throws -> String {
        try text(of: report, width: console.width, inColour: console.hasColour)
    }

    private func text(of report: Report, width: Int, inColour: Bool) throws -> String {
        switch format {
        case .table:
            let full = ResultTable(report, inColour: inColour)
            let table = wide ? full.description : ShortTable(report, width: width, inColour: inColour).description
            return explain ? "\(table)\n\n\(full.legend)" : table
        case .json: return try JSONFile.encode(report)
        case .csv: return CSVTable(report).description
        case .markdown: return MarkdownTable(report).description
        }
    }
}
