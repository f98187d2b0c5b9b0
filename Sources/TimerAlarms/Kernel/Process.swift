internal import Glibc

/// Facts about this process, and a word to its developer.
package enum Process {
    /// The process id; another one after a fork.
    package static var id: Int32 { getpid() }

    /// Writes one line to standard error.
    package static func warn(_ line: String) {
        let text = "PreciseTimer: \(line)\n"
        var remaining = Substring(text)
        let written = remaining.withUTF8 { bytes in unsafe write(STDERR_FILENO, bytes.baseAddress, bytes.count) }
        _ = written
    }
}
