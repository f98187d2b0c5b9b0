internal import CLinuxTimers
internal import Glibc
package import TimerCore

/// A program that runs beside this process, and what it writes, kept in memory.
///
/// It is in a process group of its own, so that Ctrl-C reaches this process only, which then decides. Ended and waited for at
/// the latest with the value: no zombie stays.
package struct ChildProcess: ~Copyable {
    /// How it ended.
    package struct End: Hashable, Sendable {
        /// The code it exited with; nil where a signal ended it.
        package let code: Int32?
        /// What the kernel billed to it, with its threads.
        package let usage: ResourceUsage
    }

    private let id: pid_t
    private let output: CInt
    private let errors: CInt
    private var end: End?

    /// Starts a program, without input.
    ///
    /// - Parameters:
    ///   - path: the program's file.
    ///   - arguments: without the program's name.
    ///   - timerSlack: the program's default timer slack, in nanoseconds, at least 1; nil leaves it the calling thread's.
    /// - Throws: `TimerError` where the system refuses it.
    package init(_ path: String, _ arguments: [String], timerSlack: UInt? = nil) throws(TimerError) {
        let output = try Self.memory("output")
        let errors: CInt
        do throws(TimerError) { errors = try Self.memory("errors") } catch {
            close(output)
            throw error
        }
        // A program's default is the slack that the thread had which created it.
        let slackBefore = KernelClock.timerSlack
        if let timerSlack { KernelClock.setTimerSlack(nanoseconds: timerSlack) }
        defer { if timerSlack != nil { KernelClock.setTimerSlack(nanoseconds: slackBefore) } }
        do throws(TimerError) { id = try Self.spawn(path, arguments, output, errors) } catch {
            close(output)
            close(errors)
            throw error
        }
        self.output = output
        self.errors = errors
    }

    deinit {
        if end == nil {
            kill(id, SIGKILL)
            var status: CInt = 0
            while unsafe waitpid(id, &status, 0) == -1, errno == EINTR {}
        }
        close(output)
        close(errors)
    }

    private static func memory(_ name: String) throws(TimerError) -> CInt {
        switch SystemCall.retrying({ unsafe memory_file_create(name) }) {
        case .success(let descriptor): return descriptor
        case .failure(let errno): throw errno.error(attempting: "creating a file in memory")
        }
    }

    private static func spawn(
        _ path: String,
        _ arguments: [String],
        _ output: CInt,
        _ errors: CInt
    ) throws(TimerError) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        unsafe posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO)
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        // Whatever thread starts it, it hears its signals.
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        // And does with them what a program does, also where this one ignores some.
        var usual = sigset_t()
        unsafe sigemptyset(&usual)
        unsafe sigaddset(&usual, SIGINT)
        unsafe sigaddset(&usual, SIGPIPE)
        unsafe posix_spawnattr_setsigdefault(&attributes, &usual)
        unsafe posix_spawnattr_setpgroup(&attributes, 0)
        let flags = CShort(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP)
        unsafe posix_spawnattr_setflags(&attributes, flags)
        var texts: [UnsafeMutablePointer<CChar>?] = unsafe ([path] + arguments).map { unsafe strdup($0) }
        defer { while let text = unsafe texts.popLast() { unsafe free(text) } }
        unsafe texts.append(nil)
        var id: pid_t = 0
        let failure = unsafe posix_spawn(&id, path, &actions, &attributes, texts, environ)
        if failure != 0 { throw Errno(failure).error(attempting: "starting \(path)") }
        return id
    }

    /// Looks whether it has ended, without waiting.
    package mutating func poll() -> End? {
        if end == nil {
            var status: CInt = 0
            var billed = rusage()
            if unsafe wait4(id, &status, WNOHANG, &billed) == id {
                // WIFEXITED and WEXITSTATUS, which are macros.
                let code: Int32? = status & 0x7f == 0 ? status >> 8 & 0xff : nil
                end = End(code: code, usage: ResourceUsage(billed))
            }
        }
        return end
    }

    /// Asks it to come to an end, as Ctrl-C does.
    package func interrupt() { if end == nil { kill(id, SIGINT) } }

    /// What it has written to its standard output.
    package var outputText: String { Self.text(output) }
    /// What it has written to its standard error.
    package var errorText: String { Self.text(errors) }

    private static func text(_ descriptor: CInt) -> String {
        lseek(descriptor, 0, SEEK_SET)
        let bytes = try? InputFile.rest(of: descriptor, attempting: "reading what a program wrote")
        return String(decoding: bytes ?? [], as: UTF8.self)
    }
}
