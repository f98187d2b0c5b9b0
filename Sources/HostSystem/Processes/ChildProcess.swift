internal import CTimerKernel
internal import Glibc
internal import TimerKernel

/// A program that runs beside this process. Its output is kept in memory. It has its own process group, so Ctrl-C
/// reaches this process only. The deinit kills a program that still runs and waits for it: no zombie stays.
package struct ChildProcess: ~Copyable {
    /// How the program ended.
    package struct End: Hashable, Sendable, CustomStringConvertible {
        /// The exit code; nil if a signal ended the program.
        package let code: Int32?
        /// The number of the signal that ended the program.
        package let signal: Int32?

        package var description: String {
            code.map { "exit status \($0)" } ?? signal.map { "signal \($0)" } ?? "an unknown end"
        }
    }

    private let id: pid_t
    private let output: OpenFile
    private let errors: OpenFile
    private var end: End?

    /// Starts the program of a file, with arguments and without input. Throws `SystemError` if the system refuses it.
    package init(_ path: String, _ arguments: [String]) throws(SystemError) {
        let (output, errors) = (try Self.memoryFile(), try Self.memoryFile())
        id = try Self.spawn(path, arguments, [output.number, errors.number])
        (self.output, self.errors) = (output, errors)
    }

    deinit {
        guard end == nil else { return }
        kill(id, SIGKILL)
        var status: CInt = 0
        while unsafe waitpid(id, &status, 0) == -1, errno == EINTR {}
    }

    private static func spawn(_ path: String, _ arguments: [String], _ streams: [CInt]) throws(SystemError) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        for (stream, number) in zip(streams, [STDOUT_FILENO, STDERR_FILENO]) {
            unsafe posix_spawn_file_actions_adddup2(&actions, stream, number)
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
        let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP
        unsafe posix_spawnattr_setflags(&attributes, CShort(flags))
        var texts: [UnsafeMutablePointer<CChar>?] = unsafe ([path] + arguments).map { unsafe strdup($0) }
        defer { while let text = unsafe texts.popLast() { unsafe free(text) } }
        unsafe texts.append(nil)
        var id: pid_t = 0
        let failure = unsafe posix_spawn(&id, path, &actions, &attributes, texts, Glibc.environ)
        if failure != 0 { throw SystemError("starting \(path)", Errno(failure)) }
        return id
    }

    /// How the program ended; nil if it still runs. Does not wait.
    package mutating func poll() -> End? {
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
    package func pause() { if end == nil { kill(id, SIGSTOP) } }

    package func resume() { if end == nil { kill(id, SIGCONT) } }

    /// The standard output up to now.
    package var outputText: String { Self.text(of: output) }

    /// The standard error output up to now.
    package var errorText: String { Self.text(of: errors) }

    private static func memoryFile() throws(SystemError) -> OpenFile {
        try SystemError.attempting("creating a file in memory") { () throws(Errno) in
            OpenFile(try SystemCall.retrying { unsafe memory_file_create("output") }.get())
        }
    }

    private static func text(of file: OpenFile) -> String {
        lseek(file.number, 0, SEEK_SET)
        return String(decoding: (try? file.rest()) ?? [], as: UTF8.self)
    }
}
