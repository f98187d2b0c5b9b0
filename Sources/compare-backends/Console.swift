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

    /// Prints a note, unless the console is quiet.
    mutating func note(_ line: String) { if !isQuiet { say("note: \(line)") } }

    /// Notes that two results were not measured under the same conditions.
    mutating func caution(_ difference: String) {
        say("note: they are not of the same machine and question (\(difference)): compare with care")
    }

    /// Shows progress in place of the former progress.
    mutating func show(_ progress: Progress, note: String = "") {
        let line = progress.line(width: Terminal.widthOfMessages ?? 80, note: note)
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

/// Writes a text to a file, or to standard output if the user named no file.
enum Output {
    static func write(_ text: String, to path: String?) throws {
        guard let path else {
            var console = Console()
            return try console.print(text)
        }
        try open(path).replace(with: text + "\n")
    }

    /// Opens a file for writing.
    static func open(_ path: String) throws -> OutputFile {
        do { return try OutputFile(path) } catch { throw Exit.invalid("\(error)") }
    }
}

/// What GitHub's runners understand: a summary of the job, and lines that become annotations.
///
/// Source: GitHub's documentation, "Workflow commands for GitHub Actions".
struct GitHub {
    /// The variable that names the file of the job's summary.
    static let summaryVariable = "GITHUB_STEP_SUMMARY"

    private let environment = ProcessInfo.processInfo.environment

    /// Whether the command runs on such a runner.
    var isHere: Bool { environment["GITHUB_ACTIONS"] == "true" }

    /// Appends the results to the summary of the job, if there is one. A summary that cannot be written is not worth
    /// the results of a measurement.
    func summarize(_ report: Report, _ console: inout Console) {
        guard let path = environment[Self.summaryVariable], !path.isEmpty else { return }
        do {
            try OutputFile(path).appendAtEnd(MarkdownTable(report).description + "\n\n")
        } catch {
            console.say("note: the summary of the job lacks the results: \(error)")
        }
    }

    /// A line that becomes an annotation.
    func annotation(of finding: Judgement.Finding) -> String? {
        guard isHere else { return nil }
        return switch finding.outcome {
        case .pass: nil
        case .undecided: "::warning title=compare-backends::\(Self.escaped(finding.line))"
        case .fail: annotation(ofError: finding.line)
        }
    }

    /// A line that becomes the annotation of an error.
    func annotation(ofError line: String) -> String? {
        isHere ? "::error title=compare-backends::\(Self.escaped(line))" : nil
    }

    private static func escaped(_ line: String) -> String {
        line.replacing("%", with: "%25").replacing("\r", with: "%0D").replacing("\n", with: "%0A")
    }
}
