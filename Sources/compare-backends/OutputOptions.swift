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

    /// Opens the files before anything is measured; where one cannot be opened none is left behind.
    func openFiles() throws -> Files {
        var opened: [OutputFile] = []
        func open(_ path: String?) throws -> OutputFile? {
            guard let path else { return nil }
            let file = try Handover.open(path)
            opened.append(file)
            return file
        }
        do {
            let (output, report, samples) = (try open(output), try open(report), try open(samples))
            if let histograms {
                do { try OutputFile.createFolder(histograms) } catch { throw ValidationError("\(error)") }
            }
            return Files(output: output, report: report, samples: samples.map { SampleFile($0) })
        } catch {
            for file in opened { file.discard() }
            throw error
        }
    }

    /// Writes a report wherever it was asked for, the results first. What cannot be written keeps nothing else from it.
    func write(_ report: Report, to files: Files, _ console: inout Console) throws {
        var failures: [any Error] = []
        do {
            if let output = files.output {
                try output.replace(with: try text(of: report, colour: false) + "\n")
            } else {
                try console.hand(over: try text(of: report, colour: console.isColoured))
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

    private func text(of report: Report, colour: Bool) throws -> String {
        switch format {
        case .table: ResultTable(report, colour: colour).description
        case .json: try ResultsFile.encode(report)
        case .csv: CSVTable(report).description
        case .markdown: MarkdownTable(report).description
        }
    }
}
