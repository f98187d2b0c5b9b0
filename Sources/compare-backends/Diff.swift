internal import ArgumentParser
internal import TimerMeasurement

/// Did it get worse?
struct Diff: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show what changed from one saved result to another."
    )

    @Argument(help: "The former results (JSON).")
    var old: String

    @Argument(help: "The latter results (JSON).")
    var new: String

    func run() throws {
        var console = Console()
        let (old, new) = (try SavedResults.load(old), try SavedResults.load(new))
        if let difference = old.difference(from: new) {
            console.say("note: they are not of the same machine and question (\(difference)): compare with care")
        }
        try console.hand(over: Difference(old: Report(old), new: Report(new)).description)
    }
}
