internal import TimerAlarms
public import TimerKernel

extension PreciseTimer {
    /// Why ``withTimeout(_:tolerance:on:label:file:line:operation:)`` has no result of its operation.
    public enum TimeoutError<Failure: Error>: Error {
        /// The operation was cancelled at its deadline, and then threw this error.
        case timedOut(after: Duration, Failure)
        /// The operation threw this error before its deadline, or because the surrounding task was cancelled.
        case failed(Failure)
        /// There was no time-out: it could not be scheduled, and the operation was not begun; or the service ended,
        /// and the operation was cancelled and threw.
        case timer(TimerError)
    }
}

/// Runs an operation, and cancels it if it has not ended by its deadline.
///
/// ```swift
/// let answer = try await withTimeout(.seconds(2), on: service) { try await peer.ask() }
/// ```
///
/// Cancelling is cooperative, as everywhere in Swift: this call waits for the operation to end. If the operation
/// returns a value, even after it was cancelled, the value is returned, since it may own something. The operation runs
/// in a task of its own, which has the priority and the task-local values of the calling task, and is cancelled with
/// it. Its cancellation handlers run on the service's thread if the time-out cancels it: they should return quickly.
/// One timer is scheduled, and cancelled if the operation ends in time: O(log n) for n timers on the service.
///
/// - Parameters:
///   - timeout: the time from now to the deadline. Zero cancels the operation as it begins; negative is refused.
///   - tolerance: how much later it may be cancelled on purpose.
///   - service: the running backend that keeps the deadline.
///   - label: a name for ``TimerService/activeTimers``.
///   - file: the file that ``TimerService/activeTimers`` names.
///   - line: the line that ``TimerService/activeTimers`` names.
///   - operation: the operation.
/// - Returns: the operation's result.
/// - Throws: ``PreciseTimer/TimeoutError``, with the operation's error if there is one.
public func withTimeout<Success: Sendable, Failure: Error>(
    _ timeout: Duration,
    tolerance: Duration = .zero,
    on service: TimerService = .default,
    label: String? = nil,
    file: StaticString = #fileID,
    line: UInt = #line,
    operation: @escaping @Sendable () async throws(Failure) -> Success
) async throws(PreciseTimer.TimeoutError<Failure>) -> Success {
    let expiry = Expiry<Outcome<Success, Failure>>()
    let timer: PreciseTimer
    do throws(TimerError) {
        timer = try PreciseTimer.schedule(
            .once(after: timeout),
            on: service,
            tolerance: tolerance,
            label: label,
            file: file,
            line: line,
            onEnd: { reason in if reason != .cancelled { expiry.cancel() } },
            handler: { _, _ in }
        )
    } catch {
        throw .timer(error)
    }
    let task = Task { () async -> Outcome<Success, Failure> in
        do throws(Failure) {
            return .success(try await operation())
        } catch {
            return .failure(error, hasExpired: expiry.hasExpired)
        }
    }
    expiry.begin(task)
    let result = await withTaskCancellationHandler {
        await task.value
    } onCancel: {
        task.cancel()
    }
    timer.cancel()
    switch (result, timer.state) {
    case (.success(let value), _): return value
    // An operation that had failed before its deadline may have been noticed after it.
    case (.failure(let error, hasExpired: false), _): throw .failed(error)
    case (.failure, .ended(.backendFailed(let failure))): throw .timer(failure)
    case (.failure, .ended(.serviceShutDown)):
        throw .timer(TimerError(.shutDown, "timing out on a service that was shut down"))
    case (.failure(let error, hasExpired: true), _): throw .timedOut(after: timeout, error)
    }
}

/// How an operation ended.
private enum Outcome<Success: Sendable, Failure: Error>: Sendable {
    case success(Success)
    /// It threw, before or after its timer had ended.
    case failure(Failure, hasExpired: Bool)
}

/// Cancels a task when its timer has ended, even if that is before the task was made.
private final class Expiry<Success: Sendable>: Sendable {
    private struct State {
        var hasExpired = false
        var task: Task<Success, Never>?
    }

    private let state = Lock(State())

    /// Whether the timer has ended.
    var hasExpired: Bool { state.withLock { $0.hasExpired } }

    /// Cancels the task.
    func cancel() {
        let task = state.withLock { state in
            state.hasExpired = true
            return state.task.take()
        }
        task?.cancel()
    }

    /// Gives it the task.
    func begin(_ task: Task<Success, Never>) {
        let hasExpired = state.withLock { state in
            state.task = state.hasExpired ? nil : task
            return state.hasExpired
        }
        if hasExpired { task.cancel() }
    }
}
