internal import Glibc

/// The descriptor for messages.
package enum StandardError {
    /// Writes text unchanged. A failure is ignored, because there is no other place to report it.
    package static func write(_ text: String) {
        var remaining = text[...]
        remaining.withUTF8 { bytes in _ = unsafe Glibc.write(STDERR_FILENO, bytes.baseAddress, bytes.count) }
    }
}
