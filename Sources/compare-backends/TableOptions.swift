internal import ArgumentParser
internal import TimerReport
internal import TimerResults

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
