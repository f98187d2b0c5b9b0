internal import CTimerKernel
internal import Glibc
internal import TimerKernel

/// A program that runs beside this process, without input or output. It has its own process group, so Ctrl-C reaches
/// this process only; and it is an ordinary program, also if the thread that starts it has a real-time policy. The
/// deinit kills a program that still runs and waits for it: no zombie stays.
struct ChildProcess: ~Copyable {
    /// How the program ended.
    struct End: Hashable, Sendable, CustomStringConvertible {
        /// The exit code; nil if a signal ended the program.
        let code: Int32?
        /// The number of the signal that ended the program.
        let signal: Int32?

        var description: String {
            code.map { "exit status \($0)" } ?? signal.map { "signal \($0)" } ?? "an unknown end"
        }
    }

    private let id: pid_t
    private var end: End?

    /// Starts the program of a file, with arguments and without input. Throws `Failure` if the system refuses it.
    init(_ path: String, _ arguments: [String]) throws(Failure) {
        id = try Self.spawn(path, arguments)
    }

    deinit {
        guard end == nil else { return }
        kill(id, SIGKILL)
        var status: CInt = 0
        while unsafe waitpid(id, &status, 0) == -1, errno == EINTR {}
    }

    private static func spawn(_ path: String, _ arguments: [String]) throws(Failure) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        for stream in STDIN_FILENO...STDERR_FILENO {
            unsafe posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0)
        }
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        // The program takes over neither the signal mask of the calling thread nor the signals that this process
        // ignores.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe posix_spawnattr_setsigmask(&attributes, &signals)
        for signal in [SIGINT, SIGPIPE] { unsafe sigaddset(&signals, signal) }
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        unsafe posix_spawnattr_setpgroup(&attributes, 0)
        var flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP
        // A program with a real-time policy that does not sleep would take a processor from the whole machine.
        if [SCHED_FIFO, SCHED_RR].contains(sched_getscheduler(0)) {
            var priority = sched_param()
            unsafe posix_spawnattr_setschedpolicy(&attributes, SCHED_OTHER)
            unsafe posix_spawnattr_setschedparam(&attributes, &priority)
            flags |= POSIX_SPAWN_SETSCHEDULER
        }
        unsafe posix_spawnattr_setflags(&attributes, CShort(flags))
        var texts: [UnsafeMutablePointer<CChar>?] = unsafe ([path] + arguments).map { unsafe strdup($0) }
        defer { while let text = unsafe texts.popLast() { unsafe free(text) } }
        unsafe texts.append(nil)
        var id: pid_t = 0
        let failure = unsafe posix_spawn(&id, path, &actions, &attributes, texts, Glibc.environ)
        if failure != 0 { throw Failure("starting \(path)", Errno(failure)) }
        return id
    }

    /// How the program ended; nil if it still runs. Does not wait.
    mutating func poll() -> End? {
        if end == nil {
            var status: CInt = 0
            // The macros WIFEXITED, WEXITSTATUS and WTERMSIG.
            let found = unsafe waitpid(id, &status, WNOHANG)
            if found == id {
                let signal = status & 0x7f
                end = End(code: signal == 0 ? status >> 8 & 0xff : nil, signal: signal == 0 ? nil : signal)
            } else if found == -1, errno == ECHILD {
                // If the process ignores SIGCHLD, the kernel keeps no status.
                end = End(code: nil, signal: nil)
            }
        }
        return end
    }

    /// Lets the program stand still until ``resume()``.
    func pause() { if end == nil { kill(id, SIGSTOP) } }

    func resume() { if end == nil { kill(id, SIGCONT) } }
}
