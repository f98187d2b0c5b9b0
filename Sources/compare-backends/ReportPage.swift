internal import ArgumentParser
internal import TimerReport
internal import TimerResults

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
