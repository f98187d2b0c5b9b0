internal import CTimerKernel
internal import Glibc
package import TimerKernel

extension Failure {
    /// What was attempted, as in `creating a timerfd`, and why the system refused it.
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
