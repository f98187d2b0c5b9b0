internal import CTimerKernel
internal import Glibc
internal import Synchronization
internal import SystemPackage

/// The standard streams of a command: results go to standard output, and messages to standard error.
package enum Terminal {
    /// Whether a person may see the results, so that colours help.
    package static var showsResults: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Whether a person may see the messages.
    package static var showsMessages: Bool { isatty(STDERR_FILENO) == 1 }

    /// The columns of the terminal that shows the results; nil if they go elsewhere (ioctl_tty(2)).
    package static var width: Int? { columns(of: STDOUT_FILENO) }

    /// The columns of the terminal that shows the messages; nil if they go elsewhere.
    package static var widthOfMessages: Int? { columns(of: STDERR_FILENO) }

    private static func columns(of descriptor: Int32) -> Int? {
        let columns = terminal_columns(descriptor)
        return columns > 0 ? Int(columns) : nil
    }

    /// Writes text to standard output.
    ///
    /// - Returns: false if the reader has gone away, as `head` does when it has enough.
    /// - Throws: `SystemError` unless all of it is written. Results cut short by a full disk must not pass for
    ///   results.
    package static func write(results text: String) throws(SystemError) -> Bool {
        try SystemError.attempting("writing the results") {
            do { _ = try FileDescriptor.standardOutput.writeAll(text.utf8) } catch Errno.brokenPipe { return false }
            return true
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

/// Whether Ctrl-C was pressed, for commands that finish their work first.
package enum Interrupt {
    /// Relaxed: a signal handler stores it, the command looks at it again and again, and it orders no other memory.
    private static let wasSignalled = Atomic(false)

    /// Whether SIGINT has come since ``watch()``.
    package static var isRequested: Bool { wasSignalled.load(ordering: .relaxed) }

    /// Makes the first SIGINT set ``isRequested`` only. A second one ends the process, as without this call.
    package static func watch() {
        // Also makes sure that the flag exists before the signal handler needs it.
        wasSignalled.store(false, ordering: .relaxed)
        var action = sigaction()
        // A signal handler may do no more than a store.
        unsafe action.__sigaction_handler.sa_handler = { _ in Interrupt.note() }
        action.sa_flags = CInt(bitPattern: UInt32(SA_RESETHAND))
        unsafe sigaction(SIGINT, &action, nil)
        // The parent process may have handed down a mask.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGINT)
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }

    private static func note() { wasSignalled.store(true, ordering: .relaxed) }
}
