internal import ArgumentParser
internal import TimerReport
internal import TimerResults

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
