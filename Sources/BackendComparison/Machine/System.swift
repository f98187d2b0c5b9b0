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
