internal import Glibc
internal import SystemPackage

/// The standard streams of a command: results go to standard output, and messages to standard error.
package enum Terminal {
    /// Whether a person may see the results, so that colours help.
    package static var showsResults: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Whether a person may see the messages.
    package static var showsMessages: Bool { isatty(STDERR_FILENO) == 1 }

    /// Writes text to standard output.
    ///
    /// - Throws: `SystemError` unless all of it is written. Results cut short by a full disk must not pass for
    ///   results.
    package static func write(results text: String) throws(SystemError) {
        try SystemError.attempting("writing the results") {
            _ = try FileDescriptor.standardOutput.writeAll(text.utf8)
        }
    }

    /// Writes text to standard error. Errors are ignored: there is no other place for a message.
    package static func write(message text: String) { _ = try? FileDescriptor.standardError.writeAll(text.utf8) }

    /// Prepares for standard streams that are closed, now or later.
    ///
    /// A reader that goes away becomes an error of the writing, and does not end the process. Closed descriptors are
    /// replaced by one that refuses writing, so that no file opened later takes their numbers.
    package static func surviveClosedStreams() {
        signal(SIGPIPE, SIG_IGN)
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            // The kernel gives out the lowest free number, which is this one.
            _ = unsafe open("/dev/null", O_RDONLY)
        }
    }
}
