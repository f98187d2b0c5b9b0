/// The kernel's small text files.
package enum ProcFile {
    /// The whole text; nil if the file does not exist or cannot be read.
    package static func text(_ path: String) -> String? {
        (try? InputFile.read(path)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The first line that is not empty; nil if the file cannot be read or has no such line.
    package static func line(_ path: String) -> String? {
        text(path)?.split(separator: "\n").first.map(String.init)
    }
}
