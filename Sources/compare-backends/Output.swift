internal import HostSystem

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
