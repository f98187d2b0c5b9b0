internal import PreciseTimer
internal import TimerKernel

/// An operation with a deadline. It runs in a task of its own, which its timer may cancel.
///
/// It is `@unchecked Sendable` because `operation` and `result` belong to the caller's isolation: that task runs there,
/// and the caller waits for it, so only one of them touches these at a time. The rest has a lock.
@safe final class TimedOperation<Success, Failure: Error>: @unchecked Sendable {
    /// Why the operation was cancelled.
    enum Cause {
        /// The surrounding task was cancelled.
        case surroundings
        /// The deadline passed. The second instant is that of the cancellation.
        case deadline(TimerInstant, cancelled: TimerInstant)
        /// The service ended.
        case service(TimerError)
    }

    /// The operation's task. It is used only while the task lives: the task does not end while a thread cancels it. Any
    /// thread may cancel a task.
    @safe private struct RunningTask: @unchecked Sendable {
        private let task: UnsafeCurrentTask

        /// The current task.
        init?() {
            guard let task = unsafe withUnsafeCurrentTask(body: { unsafe $0 }) else { return nil }
            unsafe self.task = task
        }

        func cancel() { unsafe task.cancel() }
    }

    private enum Phase {
        /// The task has not begun.
        case ready
        /// The task runs, and was not cancelled.
        case runs(RunningTask)
        /// A thread is cancelling the task. If the task has ended, it waits for that thread.
        case isBeingCancelled(waiting: CheckedContinuation<Void, Never>?)
        /// The task was cancelled, or has ended.
        case isOver
    }

    private struct TaskState {
        var phase = Phase.ready
        /// Why the task was cancelled, or will be when it begins. The first reason counts.
        var cause: Cause?
    }

    // Each is nil once it was used: other threads may hold this object longer than the caller waits.
    private var operation: (nonisolated(nonsending) () async throws(Failure) -> Success)?
    private var result: Result<Success, Failure>?
    private let state = Lock(TaskState())

    init(_ operation: nonisolated(nonsending) @escaping () async throws(Failure) -> Success) {
        self.operation = operation
    }

    /// Lets the operation go, which will not be run.
    func abandon() { operation = nil }

    /// Runs the operation, isolated like the caller.
    func run(isolation: isolated (any Actor)?) async {
        await withTaskCancellationHandler {
            _ = isolation
            // It begins on this thread, so that an operation that does not suspend needs no hop. A group would hop.
            await Task.immediate(executorPreference: preferredExecutor()) {
                _ = isolation
                self.begin()
                await self.call()
                if !self.end() { await self.awaitCancellation() }
            }
            .value
        } onCancel: {
            cancel(.surroundings)
        }
    }

    private nonisolated(nonsending) func call() async {
        guard let operation else { return }
        self.operation = nil
        do throws(Failure) { result = .success(try await operation()) } catch { result = .failure(error) }
    }

    /// The value that the operation returned. Called once, after it has run.
    ///
    /// - Throws: the operation's error or, if that says that the timer cancelled the operation, the reason for that.
    func value(on service: TimerService, _ isCancellation: (Failure) -> Bool) throws -> Success {
        guard let result = result.take() else { preconditionFailure("an operation that has run has a result") }
        do throws(Failure) {
            return try result.get()
        } catch {
            switch state.withLock({ $0.cause }) {
            case .service(let failure) where isCancellation(error): throw failure
            case .deadline(let deadline, let cancelled) where isCancellation(error):
                let overrun = max(.zero, cancelled.duration(to: service.now))
                throw TimeoutError(deadline: deadline, overrun: overrun, underlying: error)
            case nil, .surroundings, .service, .deadline: throw error
            }
        }
    }

    // MARK: Cancelling

    /// Cancels the operation, unless it has been cancelled already or has ended. Its cancellation handlers run here,
    /// outside the lock.
    func cancel(_ cause: Cause) {
        let task = state.withLock { state -> RunningTask? in
            switch state.phase {
            case .ready: state.cause = state.cause ?? cause
            case .runs(let task):
                state = TaskState(phase: .isBeingCancelled(waiting: nil), cause: cause)
                return task
            case .isBeingCancelled, .isOver: break
            }
            return nil
        }
        guard let task else { return }
        task.cancel()
        let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
            defer { state.phase = .isOver }
            return if case .isBeingCancelled(let waiting) = state.phase { waiting } else { nil }
        }
        waiting?.resume()
    }

    /// Cancels the operation if its timer ended because the service did.
    func timerEnded(_ reason: PreciseTimer.EndReason) {
        let attempted = "keeping the deadline of an operation on a service that was shut down"
        if case .backendFailed(let failure) = reason { cancel(.service(failure)) }
        if case .serviceShutDown = reason { cancel(.service(TimerError(.shutDown, attempted))) }
    }

    /// Called by the task when it begins.
    private func begin() {
        guard let task = RunningTask() else { return }
        let isCancelled = state.withLock { state in
            state.phase = state.cause == nil ? .runs(task) : .isOver
            return state.cause != nil
        }
        if isCancelled { task.cancel() }
    }

    /// Called by the task when it ends. Returns false if a thread is cancelling it.
    private func end() -> Bool {
        state.withLock { state in
            if case .isBeingCancelled = state.phase { return false }
            state.phase = .isOver
            return true
        }
    }

    /// Waits for the thread that is cancelling the task.
    private nonisolated(nonsending) func awaitCancellation() async {
        await withCheckedContinuation { task in
            let isOver = state.withLock { state in
                guard case .isBeingCancelled = state.phase else { return true }
                state.phase = .isBeingCancelled(waiting: task)
                return false
            }
            if isOver { task.resume() }
        }
    }
}

/// The executor that the current task prefers; nil if it has no preference. A compiler before Swift 6.3 cannot ask.
private func preferredExecutor() -> (any TaskExecutor)? {
    #if compiler(>=6.3)
    let executor = unsafe withUnsafeCurrentTask { unsafe $0?.unownedTaskExecutor }
    return unsafe executor?.asTaskExecutor()
    #else
    nil
    #endif
}
