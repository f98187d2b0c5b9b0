internal import CTimerKernel
internal import Glibc
package import TimerKernel

extension Failure {
    /// The attempt, as in `creating a timerfd`, and why the system refused it.
    package init(_ attempted: String, _ errno: Errno) {
        self = .failed("\(attempted): \(unsafe String(cString: strerror(errno.number))) (errno \(errno.number))")
    }

    /// The error of the C call before. It takes the error number first, since the making of a text may change it.
    static func last(_ attempted: @autoclosure () -> String) -> Failure {
        let errno = Errno(errno)
        return Failure(attempted(), errno)
    }

    /// Runs code of the library, whose errors say what was attempted.
    static func ofLibrary<Outcome>(_ body: () throws(TimerError) -> Outcome) throws(Failure) -> Outcome {
        do throws(TimerError) { return try body() } catch { throw .failed("\(error)") }
    }

    /// Runs system calls.
    package static func attempting<Outcome>(
        _ attempted: String,
        _ body: () throws(Errno) -> Outcome
    ) throws(Failure) -> Outcome {
        do throws(Errno) { return try body() } catch { throw Failure(attempted, error) }
    }
}

/// The running kernel's own description (uname(2)).
struct SystemName: Hashable, Sendable {
    /// For example `Linux`.
    let system: String
    /// For example `6.12.0-amd64`.
    let release: String
    /// When and how the kernel was built, for example `#1 SMP PREEMPT_DYNAMIC Debian 6.12.1-1`.
    let version: String
    /// For example `x86_64`.
    let machine: String

    init() {
        var name = utsname()
        unsafe uname(&name)
        (system, release) = (String(characters: name.sysname), String(characters: name.release))
        (version, machine) = (String(characters: name.version), String(characters: name.machine))
    }
}

extension String {
    /// The text of a fixed array, which Swift sees as a tuple of characters.
    init(characters: some Any) {
        self = unsafe withUnsafeBytes(of: characters) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}

/// Reads whole files.
enum InputFile {
    /// The bytes of a file. Throws `Failure` if it cannot be read.
    static func read(_ path: String) throws(Failure) -> [UInt8] {
        try Failure.attempting("reading \(path)") { () throws(Errno) in
            try OpenFile(path, O_RDONLY).rest()
        }
    }

    /// The bytes of the standard input. Throws `Failure` if it cannot be read.
    static func standardInput() throws(Failure) -> [UInt8] {
        try Failure.attempting("reading the standard input") { () throws(Errno) in
            try OpenFile.standardInput.rest()
        }
    }
}

/// The kernel's small text files.
enum ProcFile {
    /// The whole text; nil if the file does not exist or cannot be read.
    static func text(_ path: String) -> String? {
        (try? InputFile.read(path)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The first line that is not empty; nil if the file cannot be read or has no such line.
    static func line(_ path: String) -> String? {
        text(path)?.split(separator: "\n").first.map(String.init)
    }
}

/// An open file of this process, closed with the object. Programs that the process starts do not get it.
package final class OpenFile: Sendable {
    /// The standard streams stay open, as globals do.
    package static let (standardInput, standardOutput, standardError) =
        (OpenFile(STDIN_FILENO), OpenFile(STDOUT_FILENO), OpenFile(STDERR_FILENO))

    package let number: CInt

    /// Takes over a descriptor.
    init(_ number: CInt) { self.number = number }

    /// Opens a file. The process's mask takes rights from a file that this creates (umask(2)).
    package init(_ path: String, _ flags: CInt) throws(Errno) {
        number = try SystemCall.retrying { unsafe open(path, flags | O_CLOEXEC, 0o666) }.get()
    }

    deinit { close(number) }

    /// All bytes from the current position on.
    func rest() throws(Errno) -> [UInt8] {
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = try SystemCall.retrying { unsafe read(number, &buffer, buffer.count) }.get()
            if count == 0 { return content }
            content += buffer[..<count]
        }
    }

    /// Writes the whole text at the current position.
    package func write(_ text: String) throws(Errno) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = SystemCall.retrying {
                unsafe rest.withUnsafeBytes { unsafe Glibc.write(number, $0.baseAddress, $0.count) }
            }
            rest = rest.dropFirst(try count.get())
        }
    }
}

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
