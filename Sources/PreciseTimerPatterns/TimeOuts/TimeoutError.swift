public import PreciseTimer

/// The deadline of an operation passed, and the operation ended with a `CancellationError` because of that.
///
/// ``withTimeout(_:tolerance:on:label:file:line:operation:)`` and
/// ``withDeadline(_:tolerance:on:label:file:line:operation:)`` throw it.
public struct TimeoutError: Error, Hashable, Sendable {
    /// The deadline.
    public let deadline: TimerInstant
    /// How long the operation went on after it was cancelled. Not negative.
    public let overrun: Duration

    /// Whether the operation ignored its cancellation for some time: its ``overrun`` is more than 100 ms. One that
    /// waits in calls that can be cancelled ends within a few milliseconds.
    public var ignoredCancellation: Bool { overrun > .milliseconds(100) }

    /// An error, for tests of code that handles it.
    ///
    /// - Parameters:
    ///   - deadline: the deadline that passed.
    ///   - overrun: how long the operation went on after it was cancelled.
    public init(deadline: TimerInstant, overrun: Duration = .zero) {
        self.deadline = deadline
        self.overrun = overrun
    }
}

extension TimeoutError: CustomStringConvertible {
    /// One line, as in `timed out at 1500000000 ns (suspending), went on for 3.0 seconds after that`.
    public var description: String {
        "timed out at \(deadline)" + (ignoredCancellation ? ", went on for \(overrun) after that" : "")
    }
}
