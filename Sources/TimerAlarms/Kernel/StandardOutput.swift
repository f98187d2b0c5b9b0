internal import Glibc
package import TimerCore

/// The descriptor that results go to.
package enum StandardOutput {
    /// Whether somebody reads what is written, and not a file or a program.
    package static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Writes text as it is, all of it.
    package static func write(_ text: String) throws(TimerError) {
        try DescriptorWriting.write(text, to: STDOUT_FILENO, attempting: "writing the results")
    }

    /// From now on a reader that has gone is an error of the writing, as a full disk is, and does not end the process.
    package static func survivesItsReader() { signal(SIGPIPE, SIG_IGN) }
}
