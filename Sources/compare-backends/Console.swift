internal import FoundationEssentials
internal import HostSystem
internal import TimerProbe
internal import TimerReport
internal import TimerResults

/// The terminal: results on standard output, messages and progress on standard error, and Ctrl-C.
struct Console {
    /// Only a terminal can take a line back.
    private let showsProgress: Bool
    private let isQuiet: Bool
    /// The progress on the screen.
    private var shown = ""

    /// A quiet console shows no progress. It always shows errors.
    init(isQuiet: Bool = false) { (self.isQuiet, showsProgress) = (isQuiet, !isQuiet && Terminal.showsMessages) }

    /// Whether results on standard output may be coloured.
    var hasColour: Bool {
        Ink.isWanted(isTerminal: Terminal.showsResults, environment: ProcessInfo.processInfo.environment)
    }

    /// The columns of the terminal that shows results.
    var width: Int { Terminal.width ?? 80 }

    /// Prints results, ended by a new line.
    mutating func print(_ results: String) throws {
        clear()
        guard try Terminal.write(results: results + "\n") else { throw Exit.unread }
    }

    /// Prints a message in a line of its own.
    mutating func say(_ line: String) {
        clear()
        Terminal.write(message: line + "\n")
    }

    /// Says what will run and how long, for a reader who will see no progress.
    mutating func begin(_ plan: MeasurementPlan) {
        guard !isQuiet, !showsProgress else { return }
        let seconds = Int((plan.expectedTime / .seconds(1)).rounded(.up))
        let rows = plan.request.rows.map(\.name).joined(separator: ", ")
        say("measuring \(rows) under \(plan.request.loads.map(\.name).joined(separator: ", ")) for \(seconds) s")
    }

    /// Shows progress in place of the former progress.
    mutating func show(_ progress: Progress) {
        let line = progress.line(width: Terminal.widthOfMessages ?? 80)
        guard showsProgress, line != shown else { return }
        shown = line
        Terminal.write(message: "\r\u{1B}[K" + shown)
    }

    /// Removes the progress from the screen.
    mutating func clear() {
        if !shown.isEmpty { Terminal.write(message: "\r\u{1B}[K") }
        shown = ""
    }
}
