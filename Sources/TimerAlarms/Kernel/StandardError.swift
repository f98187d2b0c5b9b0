internal import Glibc

/// The descriptor that messages go to.
package enum StandardError {
    /// Whether a person may be looking at it.
    package static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// Writes text as it is. What cannot be written is lost: there is nowhere left to complain.
    package static func write(_ text: String) {
        var remaining = text[...]
        remaining.withUTF8 { bytes in _ = unsafe Glibc.write(STDERR_FILENO, bytes.baseAddress, bytes.count) }
    }
}
