#if Instrument
internal import BackendComparison

/// The terminal: results on standard output, messages and progress on standard error, and Ctrl-C.
struct Console {
    /// What the standard output can show.
    let results: Display
    private let messages: Display
    private let isQuiet: Bool
    /// The progress on the screen.
    private var shown = ""

    /// A quiet console shows no progress. It always shows errors.
    init(isQuiet: Bool = false) {
        (results, messages) = Terminal.displays
        self.isQuiet = isQuiet
    }

    /// Prints results for a person, ended by a new line.
    mutating func print(_ text: String) throws { try write(results.text(text)) }

    /// Writes results to the standard output as they are, as to a file, ended by a new line.
    mutating func write(_ content: String) throws {
        clear()
        guard try Terminal.write(results: content + "\n") else { throw Failure.unread }
    }

    /// Prints a message in a line of its own.
    mutating func say(_ line: String) {
        clear()
        Terminal.write(message: messages.text(line) + "\n")
    }

    /// Says what will run and how long, for a reader who will see no progress: only a terminal can take a line back.
    mutating func begin(_ plan: MeasurementPlan) {
        if !isQuiet, !messages.obeysEscapes { say(plan.announcement) }
    }

    /// Shows progress in place of the previous progress.
    mutating func show(_ progress: MeasurementProgress) {
        guard !isQuiet, messages.obeysEscapes else { return }
        let line = messages.text(progress.line(width: messages.width ?? 80))
        guard line != shown else { return }
        shown = line
        Terminal.write(message: "\r\u{1B}[K" + shown)
    }

    /// Removes the progress from the screen.
    mutating func clear() {
        if !shown.isEmpty { Terminal.write(message: "\r\u{1B}[K") }
        shown = ""
    }
}
#endif
