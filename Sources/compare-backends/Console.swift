internal import FoundationEssentials
internal import HostSystem
internal import TimerProbe
internal import TimerReport

/// The terminal: results on standard output, messages and progress on standard error, and Ctrl-C.
struct Console {
    /// Only a terminal can take a line back.
    private let showsProgress: Bool
    private let isQuiet: Bool
    /// The progress on the screen.
    private var shown = ""

    /// A quiet console shows neither progress nor notes. It always shows errors.
    init(isQuiet: Bool = false) {
        self.isQuiet = isQuiet
        showsProgress = !isQuiet && Terminal.showsMessages
    }

    /// Makes a closed pipe or a missing descriptor an error of the write, which otherwise ends the process or goes to
    /// a file.
    static func surviveClosedStreams() {
        Terminal.surviveClosedStreams()
    }

    /// Makes the first Ctrl-C a request. The second Ctrl-C ends the process.
    func catchInterrupt() { Interrupt.watch() }

    /// Whether the user has pressed Ctrl-C.
    var isInterrupted: Bool { Interrupt.isRequested }

    /// Whether results on standard output may be coloured.
    var hasColour: Bool {
        Ink.isWanted(isTerminal: Terminal.showsResults, environment: ProcessInfo.processInfo.environment)
    }

    /// Prints results, ended by a new line.
    mutating func print(_ results: String) throws {
        clear()
        try Terminal.write(results: results + "\n")
    }

    /// Prints a message in a line of its own.
    mutating func say(_ line: String) {
        clear()
        Terminal.write(message: line + "\n")
    }

    /// Prints a note, unless the console is quiet.
    mutating func note(_ line: String) { if !isQuiet { say("note: \(line)") } }

    /// Shows progress in place of the former progress.
    mutating func show(_ progress: Progress) {
        guard showsProgress, progress.line != shown else { return }
        shown = progress.line
        Terminal.write(message: "\r\u{1B}[K" + shown)
    }

    /// Removes the progress from the screen.
    mutating func clear() {
        if !shown.isEmpty { Terminal.write(message: "\r\u{1B}[K") }
        shown = ""
    }
}
