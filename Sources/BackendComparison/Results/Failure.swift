/// Why the instrument fails, in one line, and the exit code that says so.
package struct Failure: Error, Hashable, CustomStringConvertible {
    package let code: Int32
    package let description: String

    package init(code: Int32, _ description: String) { (self.code, self.description) = (code, description) }

    /// An option, a plan, a need or a file makes no sense.
    package static func invalid(_ reason: String) -> Failure { Failure(code: 2, reason) }

    /// The system refused something, or a measurement failed.
    package static func failed(_ reason: String) -> Failure { Failure(code: 1, reason) }

    /// This machine or build does not have what the user asked for.
    package static func refused(_ reason: String) -> Failure { Failure(code: 3, reason) }
}
