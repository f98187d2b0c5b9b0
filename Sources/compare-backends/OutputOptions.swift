internal import ArgumentParser
internal import TimerAlarms
internal import TimerMeasurement

/// How results are printed.
enum OutputFormat: String, CaseIterable, ExpressibleByArgument {
    case table
    case json
    case csv
    case markdown
}

/// What is written, and where.
struct OutputOptions: ParsableArguments {
    @Option(parsing: .unconditional, help: "How the results are printed.")
    var format = OutputFormat.table

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Write the results to a file instead of standard output.", valueName: "file")
    )
    var output: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Also write a page with pictures, to be opened in a browser.", valueName: "file.html")
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

    /// Whether more than the results may be printed: programs get nothing else.
    var isForPeople: Bool { format == .table && output == nil }

    /// The files, open.
    struct Files {
        fileprivate let output: OutputFile?
        fileprivate let report: OutputFile?
        let samples: SampleFile?

        /// Takes those back that nothing came to.
        func discard() {
            output?.discard()
            report?.discard()
            samples?.discard()
        }
    }

    /// Opens the files before anything is measured.
    func openFiles() throws -> Files {
        if let histograms {
            do { try OutputFile.createFolder(histograms) } catch { throw ValidationError("\(error)") }
        }
        return Files(
            output: try output.map { try Delivery.open($0) },
            report: try report.map { try Delivery.open($0) },
            samples: try samples.map { try SampleFile(Delivery.open($0)) }
        )
    }

    /// Writes a report wherever it was asked for.
    func write(_ report: Report, to files: Files, _ console: inout Console) throws {
        if let page = files.report { try page.replace(with: Page(report).html) }
        if let histograms {
            for file in PercentileFile.all(report) {
                try OutputFile("\(histograms)/\(file.name)").replace(with: file.text)
            }
        }
        if let output = files.output {
            try output.replace(with: try text(of: report, colour: false) + "\n")
        } else {
            try console.hand(over: try text(of: report, colour: console.isColoured))
        }
    }

    private func text(of report: Report, colour: Bool) throws -> String {
        switch format {
        case .table: ResultTable(report, colour: colour).description
        case .json: try ResultsFile.encode(report)
        case .csv: CSVTable(report).description
        case .markdown: MarkdownTable(report).description
        }
    }
}
