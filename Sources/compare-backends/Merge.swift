internal import ArgumentParser
internal import TimerMeasurement

/// Results of several hosts or runs as one.
struct Merge: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Merge saved results of several hosts or runs into one (JSON).",
        discussion: "Histograms are added, so that every percentile is one of all ticks together."
    )

    @Argument(help: ArgumentHelp("The results (JSON).", valueName: "result"))
    var results: [String]

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Write the result to a file instead of standard output.", valueName: "file")
    )
    var output: String?

    func run() throws {
        try Handover.write(try ResultsFile.encode(Report(try SavedResults.load(results))), to: output)
    }
}
