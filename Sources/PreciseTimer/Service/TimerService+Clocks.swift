internal import TimerAlarms
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

/// What happens to the clocks of the machine.
extension TimerService {
    /// One step of the wall clock, which was set forward or back. A plain value.
    public struct ClockStep: Equatable, Sendable, CustomStringConvertible {
        /// How far the clock was set forward; negative if it was set back.
        public let change: Duration
        /// The time on the wall clock after the step.
        public let at: TimerInstant

        /// The step, as in `-3600 s, to 1767225600000000000 ns (wall)`.
        public var description: String { "\(change.text), to \(at)" }
    }

    /// The steps of the wall clock from now on, as they happen. Steps in quick succession may be reported as one, and
    /// if they cancel each other, not at all.
    ///
    /// ```swift
    /// for try await step in try service.clockSteps { calendar.recompute(after: step.change) }
    /// ```
    ///
    /// Setting the clock is a step, by a person, by NTP at its start, or for a leap second. Slewing it is not, nor is a
    /// change of the time zone. Steps below the precision of reading two clocks, some 100 ns, are not reported. The
    /// clock is the machine's, so every real service reports the same steps, also after its shutdown. A service on
    /// virtual time reports the steps that a test injects, and its streams end with its shutdown.
    ///
    /// In a sandbox whose kernel does not report steps, such as gVisor, the stream looks at the clock once a minute. A
    /// step is then reported up to a minute late, and steps that cancel each other in that minute are not reported.
    ///
    /// Each reading of this property has its own thread and descriptor, until the stream or its task ends. Steps that
    /// no task awaits yet are kept in the stream. In a forked child the parent's streams are silent.
    ///
    /// The stream throws a `TimerError` within a minute if the process closes its descriptor. Reading the property
    /// throws one if the system refuses a descriptor or a thread.
    public var clockSteps: AsyncThrowingStream<ClockStep, any Error> {
        get throws(TimerError) {
            let alarm = core.steppingAlarm
            return try clockChanges { changes in
                changes.step.map { ClockStep(change: $0, at: alarm?.now ?? TimerClock.wall.now) }
            }
        }
    }

    /// One suspension of the system, for example to RAM, because a laptop's lid was closed. A plain value.
    public struct Suspension: Equatable, Sendable, CustomStringConvertible {
        /// How long the system was suspended.
        public let duration: Duration
        /// The time after it, on the service's clock.
        public let at: TimerInstant

        /// The suspension, as in `60 s, until 1500000000 ns (suspending)`.
        public var description: String { "\(duration.text), until \(at)" }
    }

    /// The suspensions of the system from now on, each reported after the system has resumed. Suspensions in quick
    /// succession may be reported as one.
    ///
    /// ```swift
    /// for try await suspension in try service.suspensions { log("resumed after \(suspension.duration)") }
    /// ```
    ///
    /// A suspension is the time in which the clock ``TimerClock/suspending`` stood still and ``TimerClock/continuous``
    /// went on. It is not a step of the wall clock. Suspend to idle is reported only if a cpuidle driver takes part:
    /// otherwise the clock does not stand still, and the deadlines of that time are late. A virtual machine or a
    /// container that its host pauses is not suspended in this sense: its clocks do not show it, or the wall clock is
    /// set afterwards (``clockSteps``). If the kernel does not wake the stream's thread after a suspension, as Linux
    /// does and gVisor does not, the report comes within a minute. A service on virtual time reports the suspensions
    /// that a test injects.
    ///
    /// Threads, descriptors and errors are those of ``clockSteps``.
    public var suspensions: AsyncThrowingStream<Suspension, any Error> {
        get throws(TimerError) {
            try clockChanges { [core] changes in changes.suspension.map { Suspension(duration: $0, at: core.now) } }
        }
    }

    /// The changes of the clocks that a caller wants to know of, as a stream.
    private func clockChanges<Element: Sendable>(
        _ element: @escaping @Sendable (ClockChanges) -> Element?
    ) throws(TimerError) -> AsyncThrowingStream<Element, any Error> {
        let (stream, continuation) = AsyncThrowingStream<Element, any Error>.makeStream()
        let stop = try core.watchClock {
            if let element = element($0) { continuation.yield(element) }
        } onEnd: {
            continuation.finish(throwing: $0)
        }
        continuation.onTermination = { _ in stop() }
        return stream
    }
}
