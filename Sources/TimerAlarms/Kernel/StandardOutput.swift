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

    /// Occupies the standard descriptors that are closed, so that no file that is opened later is taken for them. What is
    /// written to them is refused still.
    package static func keepsItsPlace() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            // The kernel gives out the least that is free, which is this one.
            _ = unsafe open("/dev/null", O_RDONLY)
        }
    }
}
