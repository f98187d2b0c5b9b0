internal import ArgumentParser
internal import HostSystem
internal import TimerReport
internal import TimerResults

/// The format of the results.
enum OutputFormat: String, CaseIterable, ExpressibleByArgument {
    case table
    case json
    case csv
    case markdown
}

/// What to write, and where.
struct OutputOptions: ParsableArguments {
    @Option(parsing: .unconditional, help: "The format of the results.")
    var format = OutputFormat.table

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Write the results to a file instead of standard output.", valueName: "file")
    )
    var output: String?

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

    /// Whether a person reads the results. A program gets nothing but the results.
    var isForPeople: Bool { format == .table && output == nil }

    /// The open files.
    struct Files {
        fileprivate let output: OutputFile?
        fileprivate let report: OutputFile?
        let ticks: TickFile?

        /// Removes the files that the command created and has not written to.
        func discard() {
            output?.discard()
            report?.discard()
            ticks?.discard()
        }
    }

    /// Opens the files before the measurement. If one cannot be opened, no other is left behind.
    func openFiles() throws -> Files {
        var opened: [OutputFile] = []
        func open(_ path: String?) throws -> OutputFile? {
            guard let path else { return nil }
            let file = try Output.open(path)
            opened.append(file)
            return file
        }
        do {
            let (output, report, samples) = (try open(output), try open(report), try open(samples))
            if let histograms {
                do { try OutputFile.createFolder(histograms) } catch { throw Exit.invalid("\(error)") }
            }
            return Files(output: output, report: report, ticks: samples.map { TickFile($0) })
        } catch {
            for file in opened { file.discard() }
            throw error
        }
    }

    /// Writes a report to every file, the results first. A file that cannot be written does not stop the others.
    func write(_ report: Report, to files: Files, _ console: inout Console) throws {
        var failures: [any Error] = []
        do {
            if let output = files.output {
                try output.replace(with: try text(of: report, inColour: false) + "\n")
            } else {
                try console.print(try text(of: report, inColour: console.hasColour))
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

    private func text(of report: Report, inColour: Bool) throws -> String {
        switch format {
        case .table: ResultTable(report, inColour: inColour).description
        case .json: try JSONFile.encode(report)
        case .csv: CSVTable(report).description
        case .markdown: MarkdownTable(report).description
        }
    }
}
