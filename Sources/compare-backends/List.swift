internal import ArgumentParser
internal import TimerMeasurement

/// What can be measured.
struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "List the backends, peers and references.")

    func run() throws {
        var console = Console()
        try console.hand(over: RowList.text)
    }
}
