internal import Glibc
internal import TimerKernel

/// A request that the system refused, in one line: what was attempted, and the system's reason.
package struct SystemError: Error, Hashable, CustomStringConvertible {
    package let description: String

    /// What was attempted, as in `opening results.json`, and in a few words why it failed.
    package init(_ attempted: String, _ reason: String) { description = "\(attempted): \(reason)" }

    init(_ attempted: String, _ errno: Errno) {
        self.init(attempted, "\(unsafe String(cString: strerror(errno.number))) (errno \(errno.number))")
    }

    /// The error of the C call before. It takes the error number first, since the making of a text may change it.
    static func last(_ attempted: @autoclosure () -> String) -> SystemError {
        let errno = Errno(errno)
        return SystemError(attempted(), errno)
    }

    /// Runs system calls.
    static func attempting<Outcome>(
        _ attempted: String,
        _ body: () throws(Errno) -> Outcome
    ) throws(SystemError) -> Outcome {
        do throws(Errno) { return try body() } catch { throw SystemError(attempted, error) }
    }
}
