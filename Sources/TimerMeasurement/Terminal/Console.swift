internal import FoundationEssentials
internal import TimerAlarms
package import TimerCore

/// The person in front of the command: results on standard output, messages and progress on standard error, and Ctrl-C.
package struct Console {
    /// Whether progress can be shown: only a terminal can take a line back.
    private let showsProgress: Bool
    /// Whether notes are kept back, too.
    private let isQuiet: Bool
    /// The progress that is on the screen.
    private var shown = ""

    /// - Parameter isQuiet: whether neither progress nor notes are shown; errors always are.
    package init(isQuiet: Bool = false) {
        self.isQuiet = isQuiet
        showsProgress = !isQuiet && StandardError.isTerminal
    }

    /// From now on a reader of the results that has gone, or was never there, is an error as any other.
    package static func survivesItsReader() {
        StandardOutput.survivesItsReader()
        StandardOutput.keepsItsPlace()
    }

    /// From now on the first Ctrl-C is noted, instead of ending the process. The second one ends it.
    package func catchInterrupt() { Interrupt.watch() }

    /// Whether Ctrl-C was pressed.
    package var isInterrupted: Bool { Interrupt.isRequested }

    /// Whether results on standard output may be coloured.
    package var isColoured: Bool {
        ColourChoice.isWanted(
            isTerminal: StandardOutput.isTerminal,
            environment: ProcessInfo.processInfo.environment
        )
    }

    /// Hands the results over, ended by a new line.
    package mutating func hand(over results: String) throws(TimerError) {
        clear()
        try StandardOutput.write(results + "\n")
    }

    /// Says something, in a line of its own.
    package mutating func say(_ line: String) {
        clear()
        StandardError.write(line + "\n")
    }

    /// Says something that is good to know.
    package mutating func note(_ line: String) { if !isQuiet { say("note: \(line)") } }

    /// Shows progress in place of what was shown before.
    package mutating func show(_ progress: Progress) {
        guard showsProgress, progress.line != shown else { return }
        shown = progress.line
        StandardError.write("\r\u{1B}[K" + shown)
    }

    /// Takes the progress from the screen.
    package mutating func clear() {
        if !shown.isEmpty { StandardError.write("\r\u{1B}[K") }
        shown = ""
    }
}
