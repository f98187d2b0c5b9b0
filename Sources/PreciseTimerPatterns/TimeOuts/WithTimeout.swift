public import PreciseTimer
internal import TimerKernel

/// Runs an operation, and cancels it if it has not ended after a time.
///
/// ```swift
/// let answer = try await withTimeout(.seconds(2)) { try await peer.ask() }
/// ```
///
/// Like ``withDeadline(_:tolerance:on:label:file:line:isCancellation:operation:)``, which describes the rest, with a
/// deadline that lies `timeout` after this call.
///
/// A client may report its cancellation by an error of its own. `isCancellation` knows that error:
///
/// ```swift
/// import Foundation
/// import FoundationNetworking
///
/// let (data, _) = try await withTimeout(.seconds(2), isCancellation: { ($0 as? URLError)?.code == .cancelled }) {
///     try await URLSession.shared.data(from: url)
/// }
/// ```
///
/// - Parameters:
///   - timeout: the time from now to the deadline. Zero is due at once: the operation is cancelled as it begins, on
///     virtual time with the next `advance(by: .zero)`. Negative is refused.
///   - tolerance: how much later the operation may be cancelled on purpose. Not negative.
///   - service: the running backend that keeps the deadline.
///   - label: a name for `TimerService.activeTimers`.
///   - file: the file that `TimerService.activeTimers` names.
///   - line: the line that `TimerService.activeTimers` names.
///   - isCancellation: whether an error other than `CancellationError` says that the operation was cancelled. Called
///     with the operation's error, in the caller's isolation, only if this call cancelled the operation.
///   - operation: the operation, in the caller's isolation.
/// - Returns: the operation's value.
/// - Throws: the operation's error; ``TimeoutError``; or `TimerError`.
nonisolated(nonsending) public func withTimeout<Success, Failure: Error>(
    _ timeout: Duration,
    tolerance: Duration = .zero,
    on service: TimerService = .default,
    label: String? = nil,
    file: StaticString = #fileID,
    line: UInt = #line,
    isCancellation: (Failure) -> Bool = { _ in false },
    operation: nonisolated(nonsending) () async throws(Failure) -> Success
) async throws -> Success {
    try await run(operation, isCancellation, .once(after: timeout), (service, tolerance, label, file, line))
}

/// Runs an operation, and cancels it if it has not ended by a deadline.
///
/// ```swift
/// let deadline = service.now.advanced(by: .seconds(2))
/// let first = try await withDeadline(deadline, on: service) { try await peer.ask() }
/// let second = try await withDeadline(deadline, on: service) { try await connection.ask() }
/// ```
///
/// The operation runs in the caller's isolation: in a method of an actor or of a view model it may use `self`. It
/// begins at once, in a task of its own that has the priority, the task-local values and, with Swift 6.3 or later, the
/// executor preference of the calling task, and that is escalated and cancelled with it. Cancelling is cooperative, as
/// everywhere in Swift: this call waits for the operation to end.
///
/// - A value that the operation returns is returned, also after the deadline.
/// - An error that it throws is thrown, also after the deadline, unless it says that the operation was cancelled: a
///   `CancellationError`, or one that `isCancellation` knows. Then the reason for that is thrown: ``TimeoutError`` if
///   the deadline passed, and a `TimerError` if the service ended.
/// - If its deadline cannot be scheduled, the operation is not begun, and the `TimerError` is thrown.
///
/// The first cancellation counts, also that of the surrounding task, whose `CancellationError` comes out as itself. If
/// calls are nested, the earlier deadline cancels, and the call that it belongs to throws the error. Each call asks its
/// own `isCancellation`.
///
/// The operation's cancellation handlers run on the service's thread if the deadline cancels it: they should return
/// quickly. One timer is scheduled, and cancelled if the operation ends in time: O(log n) for n timers on the service.
/// Code that was called cannot ask for the deadlines that it runs under, and a `CancellationError` does not have its
/// reason: for both, the proposal for Swift's own `withDeadline` (SE-0526) had no settled form yet.
///
/// - Parameters:
///   - deadline: the instant, on the service's clock. If it has passed, the operation is cancelled as it begins, on
///     virtual time with the next `advance(by: .zero)`.
///   - tolerance: how much later the operation may be cancelled on purpose. Not negative.
///   - service: the running backend that keeps the deadline.
///   - label: a name for `TimerService.activeTimers`.
///   - file: the file that `TimerService.activeTimers` names.
///   - line: the line that `TimerService.activeTimers` names.
///   - isCancellation: whether an error other than `CancellationError` says that the operation was cancelled. Called
///     with the operation's error, in the caller's isolation, only if this call cancelled the operation.
///   - operation: the operation, in the caller's isolation.
/// - Returns: the operation's value.
/// - Throws: the operation's error; ``TimeoutError``; or `TimerError`, also for an instant of another
///   clock than the service's.
nonisolated(nonsending) public func withDeadline<Success, Failure: Error>(
    _ deadline: TimerInstant,
    tolerance: Duration = .zero,
    on service: TimerService = .default,
    label: String? = nil,
    file: StaticString = #fileID,
    line: UInt = #line,
    isCancellation: (Failure) -> Bool = { _ in false },
    operation: nonisolated(nonsending) () async throws(Failure) -> Success
) async throws -> Success {
    try await run(operation, isCancellation, .once(at: deadline), (service, tolerance, label, file, line))
}

private func run<Success, Failure: Error>(
    _ operation: nonisolated(nonsending) () async throws(Failure) -> Success,
    _ isCancellation: (Failure) -> Bool,
    _ deadline: PreciseTimer.Schedule,
    _ options: PatternOptions,
    isolation: isolated (any Actor)? = #isolation
) async throws -> Success {
    try await withoutActuallyEscaping(operation) { operation in
        _ = isolation
        let timed = TimedOperation(operation)
        let timer: PreciseTimer
        do throws(TimerError) {
            timer = try PreciseTimer.schedule(
                deadline,
                on: options.service,
                tolerance: options.tolerance,
                label: options.label,
                file: options.file,
                line: options.line,
                target: timed,
                onEnd: { timed.timerEnded($0) },
                handler: { timed, tick in timed.cancel(.deadline(tick.deadline, cancelled: tick.delivered)) }
            )
        } catch {
            // Another thread may hold the target for a moment longer.
            timed.abandon()
            throw error
        }
        await timed.run(isolation: isolation)
        timer.cancel()
        return try timed.value(on: options.service) { $0 is CancellationError || isCancellation($0) }
    }
}

/// The deadline of an operation passed, and the operation ended because it was cancelled.
///
/// ``withTimeout(_:tolerance:on:label:file:line:isCancellation:operation:)`` and
/// ``withDeadline(_:tolerance:on:label:file:line:isCancellation:operation:)`` throw it.
public struct TimeoutError: Error, Hashable, Sendable {
    /// The deadline.
    public let deadline: TimerInstant
    /// How long the operation went on after it was cancelled. Not negative.
    public let overrun: Duration
    /// The error that the operation ended with.
    public let underlying: any Error

    /// Whether the operation ignored its cancellation for some time: its ``overrun`` is more than 100 ms. One that
    /// waits in calls that can be cancelled ends within a few milliseconds.
    public var ignoredCancellation: Bool { overrun > .milliseconds(100) }

    /// An error, for tests of code that handles it.
    ///
    /// - Parameters:
    ///   - deadline: the deadline that passed.
    ///   - overrun: how long the operation went on after it was cancelled.
    ///   - underlying: the error that the operation ended with.
    public init(
        deadline: TimerInstant,
        overrun: Duration = .zero,
        underlying: any Error = CancellationError()
    ) {
        (self.deadline, self.overrun, self.underlying) = (deadline, overrun, underlying)
    }

    /// Whether the deadlines and the overruns are equal. The underlying errors do not count.
    public static func == (left: Self, right: Self) -> Bool {
        left.deadline == right.deadline && left.overrun == right.overrun
    }

    /// Combines the deadline and the overrun.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(deadline)
        hasher.combine(overrun)
    }
}

extension TimeoutError: CustomStringConvertible {
    /// One line, as in `timed out at 1500000000 ns (suspending), went on for 3 s after that`.
    public var description: String {
        "timed out at \(deadline)" + (ignoredCancellation ? ", went on for \(overrun.text) after that" : "")
    }
}
