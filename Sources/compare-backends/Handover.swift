internal import ArgumentParser
internal import TimerAlarms
internal import TimerMeasurement

/// Handing over what a command was asked for.
enum Handover {
    /// Writes to a file, or where none was named to standard output.
    static func write(_ text: String, to path: String?) throws {
        guard let path else {
            var console = Console()
            return try console.hand(over: text)
        }
        try open(path).replace(with: text + "\n")
    }

    /// Opens a file; a name that cannot be written makes no sense as an option.
    static func open(_ path: String) throws -> OutputFile {
        do { return try OutputFile(path) } catch { throw ValidationError("\(error)") }
    }
}
