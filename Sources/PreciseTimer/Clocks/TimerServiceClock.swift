public import TimerKernel

/// A service as a Swift `Clock`: the service's alarm wakes the tasks that sleep on it.
///
/// ```swift
/// let clock = TimerService.default.clock
/// try await Task.sleep(until: clock.now.advanced(by: .milliseconds(5)), clock: clock)
/// ```
public struct TimerServiceClock: Clock, Sendable, CustomStringConvertible {
    let service: TimerService

    /// The time on the service's clock.
    public var now: TimerInstant { service.now }

    /// One nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// The service, as in `clock of shared timerfd service, suspending clock, 3 timers`.
    public var description: String { "clock of \(service.title)" }

    /// Sleeps until a deadline of the service's clock, and never wakes before it.
    ///
    /// - Parameters:
    ///   - deadline: when to wake. If it has passed, the call returns at once.
    ///   - tolerance: how much later the task may wake; by default zero.
    /// - Throws: `CancellationError` at once if the task is cancelled; `TimerError` if the sleep could not be
    ///   scheduled or its service ended.
    public func sleep(until deadline: TimerInstant, tolerance: Duration? = nil) async throws {
        try Task.checkCancellation()
        if let now = service.core.nowOfAlarm, deadline.clock == now.clock, deadline <= now { return }
        let wakeUp = PreciseTimer.ticks(
            .once(at: deadline),
            on: service,
            tolerance: tolerance ?? .zero,
            label: "a sleep on the service's clock"
        )
        for try await _ in wakeUp { return }
        try Task.checkCancellation()
        throw TimerError(.shutDown, "sleeping on a service that was shut down")
    }
}

extension TimerService {
    /// The service as a Swift `Clock`, for `Task.sleep(until:clock:)` and other functions that take a clock.
    public var clock: TimerServiceClock { TimerServiceClock(service: self) }
}
