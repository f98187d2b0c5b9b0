internal import TimerAlarms
public import TimerKernel

/// A service as a Swift `Clock`: the service's alarm wakes the tasks that sleep on it.
///
/// ```swift
/// let clock = TimerService.default.clock
/// try await Task.sleep(until: clock.now.advanced(by: .milliseconds(5)), clock: clock)
/// ```
public struct TimerServiceClock: Clock, Sendable {
    /// The standard library's duration.
    public typealias Duration = Swift.Duration
    /// An instant of the service's clock.
    public typealias Instant = TimerInstant

    let service: TimerService

    /// The time on the service's clock.
    public var now: TimerInstant { service.now }

    /// One nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Sleeps until a deadline of the service's clock, and never wakes before it.
    ///
    /// - Parameters:
    ///   - deadline: when to wake. If it has passed, the call returns at once.
    ///   - tolerance: how much later the task may wake; by default zero.
    /// - Throws: `CancellationError` at once if the task is cancelled; `TimerError` if the sleep could not be
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
    /// The service as a Swift `Clock`, for `Task.sleep(until:clock:)` and other functions that take a clock.
    public var clock: TimerServiceClock { TimerServiceClock(service: self) }
}

extension TimerService {
    /// One step of the wall clock: somebody set it, forward or back. A plain value.
    public struct ClockStep: Hashable, Codable, Sendable {
        /// How far the clock was moved; negative if it was set back.
        public let by: Duration
        /// The time on the wall clock after the step.
        public let at: TimerInstant
    }

    /// The steps of the wall clock from now on, as they happen. Steps in quick succession may be told as one, and if
    /// they cancel each other, not at all.
    ///
    /// ```swift
    /// for try await step in try service.clockSteps { calendar.recompute(after: step.by) }
    /// ```
    ///
    /// Setting the clock is a step, by a person, by NTP at its start, or for a leap second. Slewing it is not, nor is a
    /// change of the time zone. Steps below the precision of reading two clocks, some 100 ns, are not told. The clock
    /// is the machine's, so every real service tells the same steps, also after its shutdown. A service on virtual time
    /// tells the steps that a test injects, and its streams end with its shutdown.
    ///
    /// Each reading of this property has its own thread and descriptor, until the stream or its task ends. Steps that
    /// nobody awaits yet are kept in the stream. In a forked child the parent's streams are silent.
    ///
    /// The stream throws a `TimerError` within a minute if the process closes its descriptor. Reading the property
    /// throws one if the system refuses a descriptor or a thread, and always on a Mac.
    public var clockSteps: AsyncThrowingStream<ClockStep, any Error> {
        get throws(TimerError) {
            let (steps, continuation) = AsyncThrowingStream<ClockStep, any Error>.makeStream()
            let onStep: @Sendable (Duration, TimerInstant) -> Void = { continuation.yield(ClockStep(by: $0, at: $1)) }
            if let alarm = core.steppingAlarm {
                let stop = alarm.watchSteps(onStep) { continuation.finish() }
                continuation.onTermination = { _ in stop() }
            } else {
                let watch = try WallClockWatch()
                try watch.start(onStep: onStep) { continuation.finish(throwing: $0) }
                continuation.onTermination = { _ in watch.stop() }
            }
            return steps
        }
    }
}
