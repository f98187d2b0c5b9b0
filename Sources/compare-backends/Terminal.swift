#if Instrument
internal import BackendComparison
internal import CTimerKernel
internal import FoundationEssentials
internal import Glibc
internal import Synchronization
internal import TimerKernel

/// The standard streams of a command: results go to standard output, and messages to standard error.
enum Terminal {
    /// What the standard output and the standard error can show (ioctl_tty(2)).
    static var displays: (results: Display, messages: Display) { (display(STDOUT_FILENO), display(STDERR_FILENO)) }

    private static func display(_ stream: CInt) -> Display {
        let columns = terminal_columns(stream)
        return Display(
            isTerminal: isatty(stream) == 1,
            columns: columns > 0 ? Int(columns) : nil,
            environment: ProcessInfo.processInfo.environment
        )
    }

    /// Writes text to standard output. Returns false if the reader has gone away, as `head` does when it has enough.
    /// Throws `Failure` unless all of it is written: results cut short by a full disk must not pass for results.
    static func write(results text: String) throws(Failure) -> Bool {
        try Failure.attempting("writing the results") { () throws(Errno) in
            do throws(Errno) { try OpenFile.standardOutput.write(text) } catch Errno(EPIPE) { return false }
            return true
        }
    }

    /// Writes text to standard error. Errors are ignored: there is no other place for a message.
    static func write(message text: String) { try? OpenFile.standardError.write(text) }

    /// Prepares for standard streams that are closed, now or later. A reader that goes away becomes an error of the
    /// writing. Closed descriptors become one that refuses writing, so no file opened later takes their numbers.
    static func surviveClosedStreams() {
        signal(SIGPIPE, SIG_IGN)
        // A limit of file sizes becomes one, too.
        signal(SIGXFSZ, SIG_IGN)
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            // The kernel gives out the lowest free number, which is this one.
            _ = unsafe open("/dev/null", O_RDONLY)
        }
    }
}

/// Takes the first SIGINT (Ctrl-C), SIGTERM or SIGHUP as a request, for commands that finish their work first.
enum Interrupt {
    /// The first signal, or 0. Relaxed: a signal handler stores it, commands poll it, and it orders no other memory.
    private static let first = Atomic<Int32>(0)

    /// The first of these signals since ``watch()``; nil if none has come.
    static var signal: Int32? {
        let number = first.load(ordering: .relaxed)
        return number == 0 ? nil : number
    }

    /// Makes the first signal of each kind set ``signal`` only. The second ends the process, as without this call. A
    /// SIGHUP that the process ignores, as under nohup(1), stays ignored.
    static func watch() {
        // Also makes sure that the number exists before the signal handler needs it.
        first.store(0, ordering: .relaxed)
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        for number in [SIGINT, SIGTERM, SIGHUP] where number != SIGHUP || !isIgnored(number) {
            var action = sigaction()
            // A signal handler may do no more than this.
            unsafe action.__sigaction_handler.sa_handler = { number in
                _ = Interrupt.first.compareExchange(expected: 0, desired: number, ordering: .relaxed)
            }
            action.sa_flags = CInt(bitPattern: UInt32(SA_RESETHAND))
            unsafe sigaction(number, &action, nil)
            unsafe sigaddset(&signals, number)
        }
        // The parent process may have handed down a mask.
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        unsafe sigaction(number, nil, &action)
        return unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
#endif
