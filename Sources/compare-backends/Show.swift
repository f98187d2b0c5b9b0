internal import ArgumentParser
internal import TimerResults

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
