internal import ArgumentParser
internal import TimerReport
internal import TimerResults

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
