public import TimerCore

/// A service as a Swift `Clock`: what sleeps on it is woken by the service's alarm.
///
/// ```swift
/// let clock = TimerService.default.clock
/// try await Task.sleep(until: clock.now.advanced(by: .milliseconds(5)), clock: clock)
/// ```
public struct TimerServiceClock: Clock, Sendable {
    /// Lengths of time are the standard library's.
    public typealias Duration = Swift.Duration
    /// The instants are those of the service's clock.
    public typealias Instant = TimerInstant

    let service: TimerService

    /// The time on the service's clock.
    public var now: TimerInstant { service.now }

    /// One nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Sleeps until a deadline of the service's clock, and never wakes before it.
    ///
    /// - Parameters:
    ///   - deadline: when to wake. One that has passed does not sleep.
    ///   - tolerance: how much later is fine; by default nothing.
    /// - Throws: `CancellationError` at once when the task is cancelled; `TimerError` where the sleep could not be
    ///   scheduled or its service ended.
    public func sleep(until deadline: TimerInstant, tolerance: Duration? = nil) async throws {
        try Task.checkCancellation()
        if let now = service.core.nowOfAlarm, deadline.clock == now.clock,
            deadline <= now
        {
            return
        }
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
    /// The service as a Swift `Clock`, for `Task.sleep(until:clock:)` and whatever else takes one.
    public var clock: TimerServiceClock { TimerServiceClock(service: self) }
}
