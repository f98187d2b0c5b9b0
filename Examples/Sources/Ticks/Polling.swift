internal import PreciseTimer
internal import PreciseTimerExecutor

// Async code in the C program's loop: a task and an actor on its thread, so C needs no lock against them.

/// A function of the C program, which gets the number of a result.
public typealias PollingResult = @convention(c) @Sendable (UnsafeMutableRawPointer?, UInt64) -> Void
/// A function of the C program, which is called last.
public typealias PollingEnd = @convention(c) @Sendable (UnsafeMutableRawPointer?) -> Void

/// Polls until its task is cancelled.
private actor Poller {
    private let executor: TimerExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.unownedExecutor }
    private var count: UInt64 = 0

    init(on executor: TimerExecutor) { self.executor = executor }

    func poll(every period: Duration, report: (UInt64) -> Void) async throws {
        var next = executor.service.now
        while true {
            next = next.advanced(by: period)
            try await executor.service.clock.sleep(until: next)
            report(count)
            count += 1
        }
    }
}

/// The task, as a C program holds it.
private final class Polling {
    let task: Task<Void, Never>

    init(_ task: Task<Void, Never>) { self.task = task }
}

/// Starts a task that polls.
@_cdecl("ticks_poll")
public func ticksPoll(
    _ service: OpaquePointer,
    _ period: UInt64,
    _ onResult: @escaping PollingResult,
    _ onEnd: @escaping PollingEnd,
    _ context: UnsafeMutableRawPointer?
) -> OpaquePointer {
    let executor = TimerExecutor(on: unsafe object(service, as: Ticks.self).service)
    // Only the loop's thread uses it.
    nonisolated(unsafe) let context = unsafe context
    let task = Task(executorPreference: executor) {
        let poller = Poller(on: executor)
        try? await poller.poll(every: .nanoseconds(Int64(clamping: period))) { unsafe onResult(context, $0) }
        unsafe onEnd(context)
    }
    return unsafe OpaquePointer(Unmanaged.passRetained(Polling(task)).toOpaque())
}

/// Cancels the task, and gives its handle back.
@_cdecl("ticks_cancel")
public func ticksCancel(_ polling: OpaquePointer) { unsafe release(polling, as: Polling.self).task.cancel() }
