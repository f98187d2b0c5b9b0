internal import ArgumentParser
internal import HostSystem
internal import TimerReport
internal import TimerResults

/// Reads results that were saved as JSON, for the commands below.
enum SavedResults {
    static func load(_ path: String) throws -> Results {
        let content: [UInt8]
        do { content = try InputFile.read(path) } catch { throw Exit.invalid("\(error)") }
        do { return try JSONFile.decode(content) } catch { throw Exit.invalid("\(path) \(error)") }
    }

    /// Reads several files and merges them.
    static func load(_ paths: [String]) throws -> Results {
        let results = try paths.map { try load($0) }
        do { return try Results.merged(results) } catch {
            throw Exit.invalid("\(paths.joined(separator: ", ")): \(error)")
        }
    }
}

/// Shows saved results again.
struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show saved results again, as a table or in another format.",
        discussion: "Several results are merged first, as by compare-backends merge."
    )

    @Argument(help: ArgumentHelp("The results (JSON).", valueName: "result"))
    var results: [String]

    @OptionGroup
    var table: TableOptions

    func run() throws {
        var console = Console()
        let report = Report(try SavedResults.load(results))
        if let output = table.output {
            try Output.write(try table.text(of: report), to: output)
        } else {
            try console.print(try table.text(of: report, on: console))
        }
    }
}

/// Merges saved results.
struct Merge: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Merge saved results of several hosts or runs into one (JSON).",
        discussion: "Histograms are added, so every percentile is one of all ticks together."
    )

    @Argument(help: ArgumentHelp("The results (JSON).", valueName: "result"))
    var results: [String]

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Write the result to a file instead of standard output.", valueName: "file")
    )
    var output: String?

    func run() throws { try Output.write(try JSONFile.encode(Report(try SavedResults.load(results))), to: output) }
}

/// Compares two saved results.
struct Diff: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show what changed from one saved result to another."
    )

    @Argument(help: "The old results (JSON).")
    var old: String

    @Argument(help: "The new results (JSON).")
    var new: String

    func run() throws {
        var console = Console()
        let (old, new) = (try SavedResults.load(old), try SavedResults.load(new))
        if let difference = old.difference(from: new) { console.caution(difference) }
        try console.print(Difference(old: Report(old), new: Report(new)).description)
    }
}

/// Makes a page with pictures from saved results.
struct ReportPage: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Make a page with pictures (HTML) from saved results.",
        discussion: "Several results are merged first, as by compare-backends merge."
    )

    @Argument(help: ArgumentHelp("The results (JSON).", valueName: "result"))
    var results: [String]

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Write the page to a file instead of standard output.", valueName: "file.html")
    )
    var output: String?

    func run() throws { try Output.write(Page(Report(try SavedResults.load(results))).html, to: output) }
}
