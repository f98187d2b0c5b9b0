internal import TimerAlarms
public import TimerCore

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
    /// throws one if the system refuses a descriptor or a thread.
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
