internal import CTimerKernel
internal import Glibc
internal import SystemPackage

/// A program that runs beside this process. Its output is kept in memory.
///
/// It has its own process group, so Ctrl-C reaches this process only. The deinit kills a program that still runs and
/// waits for it: no zombie stays.
package struct ChildProcess: ~Copyable {
    /// How the program ended.
    package struct End: Hashable, Sendable {
        /// The exit code; nil if a signal ended the program.
        package let code: Int32?
        /// The kernel's account of all its threads.
        package let usage: ResourceUsage
    }

    private let id: pid_t
    private let output: MemoryFile
    private let errors: MemoryFile
    private var end: End?

    /// Starts a program without input.
    ///
    /// - Parameters:
    ///   - path: the program's file.
    ///   - arguments: the arguments without the program's name.
    ///   - timerSlack: the program's default timer slack in nanoseconds, at least 1; nil for that of the calling
    ///     thread.
    /// - Throws: `SystemError` if the system refuses the program.
    package init(_ path: String, _ arguments: [String], timerSlack: UInt? = nil) throws(SystemError) {
        let (output, errors) = (try MemoryFile(), try MemoryFile())
        // A program takes its default from the thread that creates it.
        let slackBefore = TimerSlack.nanoseconds
        if let timerSlack { TimerSlack.nanoseconds = timerSlack }
        defer { if timerSlack != nil { TimerSlack.nanoseconds = slackBefore } }
        id = try Self.spawn(path, arguments, output.descriptor.rawValue, errors.descriptor.rawValue)
        self.output = output
        self.errors = errors
    }

    deinit {
        guard end == nil else { return }
        kill(id, SIGKILL)
        var status: CInt = 0
        while unsafe waitpid(id, &status, 0) == -1, errno == EINTR {}
    }

    private static func spawn(
        _ path: String,
        _ arguments: [String],
        _ output: CInt,
        _ errors: CInt
    ) throws(SystemError) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        unsafe posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO)
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        // The program takes over neither the signal mask of the calling thread nor the signals that this process
        // ignores.
        var blocked = sigset_t()
        unsafe sigemptyset(&blocked)
        unsafe posix_spawnattr_setsigmask(&attributes, &blocked)
        var restored = sigset_t()
        unsafe sigemptyset(&restored)
        unsafe sigaddset(&restored, SIGINT)
        unsafe sigaddset(&restored, SIGPIPE)
        unsafe posix_spawnattr_setsigdefault(&attributes, &restored)
        unsafe posix_spawnattr_setpgroup(&attributes, 0)
        let flags = CShort(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP)
        unsafe posix_spawnattr_setflags(&attributes, flags)
        var texts: [UnsafeMutablePointer<CChar>?] = unsafe ([path] + arguments).map { unsafe strdup($0) }
        defer { while let text = unsafe texts.popLast() { unsafe free(text) } }
        unsafe texts.append(nil)
        var id: pid_t = 0
        let failure = unsafe posix_spawn(&id, path, &actions, &attributes, texts, environ)
        if failure != 0 { throw SystemError("starting \(path)", Errno(rawValue: failure)) }
        return id
    }

    /// How the program ended; nil if it still runs. Does not wait.
    package mutating func poll() -> End? {
        if end == nil {
            var status: CInt = 0
            var billed = rusage()
            if unsafe wait4(id, &status, WNOHANG, &billed) == id {
                // The macros WIFEXITED and WEXITSTATUS.
                let code: Int32? = status & 0x7f == 0 ? status >> 8 & 0xff : nil
                end = End(code: code, usage: ResourceUsage(billed))
            }
        }
        return end
    }

    /// Sends SIGINT, as Ctrl-C does.
    package func interrupt() { if end == nil { kill(id, SIGINT) } }

    /// Lets the program stand still until ``resume()``.
    package func pause() { if end == nil { kill(id, SIGSTOP) } }

    /// Lets the program go on.
    package func resume() { if end == nil { kill(id, SIGCONT) } }

    /// The standard output up to now.
    package var outputText: String { output.text }
    /// The standard error output up to now.
    package var errorText: String { errors.text }
}

/// A file without a name, closed with the object.
private final class MemoryFile: Sendable {
    let descriptor: FileDescriptor

    init() throws(SystemError) {
        descriptor = FileDescriptor(rawValue: unsafe memory_file_create("output"))
        if descriptor.rawValue == -1 { throw .last("creating a file in memory") }
    }

    deinit { try? descriptor.close() }

    var text: String {
        _ = try? descriptor.seek(offset: 0, from: .start)
        return String(decoding: (try? InputFile.rest(of: descriptor)) ?? [], as: UTF8.self)
    }
}

/// The installed programs.
package enum Programs {
    /// Folders of administrators' programs, which not every user's PATH names.
    private static let more = ["/usr/local/bin", "/usr/bin", "/usr/local/sbin", "/usr/sbin"]

    /// The file of a program; nil if it is not installed.
    package static func path(of name: String) -> String? {
        let path = unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? ""
        let directories = path.split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
        return (directories + more).lazy.map { "\($0)/\(name)" }.first { unsafe access($0, X_OK) == 0 }
    }
}

/// The environment that programs take over from this process.
package enum Environment {
    /// Removes a variable. Call it while no other thread reads the environment: glibc does not guard it.
    package static func remove(_ name: String) { _ = unsafe unsetenv(name) }
}
