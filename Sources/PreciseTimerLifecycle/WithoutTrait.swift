#if !ServiceLifecycle
public import PreciseTimer

/// Without the trait, its uses are refused with an error that names it.
@available(*, unavailable, message: "name the trait ServiceLifecycle where your Package.swift names precise-timer")
public struct TimerShutdown {
    /// Takes what the real one takes: of a call with other arguments, the compiler would say that they are wrong.
    public init(of timers: Any, lastTick: Bool = false, within limit: Duration? = nil) {}
}

/// Without the trait, its uses are refused with an error that names it.
@available(*, unavailable, message: "name the trait ServiceLifecycle where your Package.swift names precise-timer")
public struct PeriodicService {
    /// When a service runs its job for the first time.
    public enum FirstRun { case scheduled, atStart, atStartOrFail }

    /// Takes what the real one takes: of a call with other arguments, the compiler would say that they are wrong.
    public init(
        every period: Duration,
        firstRun: FirstRun = .scheduled,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        missedTicks: PreciseTimer.MissedTickPolicy = .skip,
        label: String? = nil,
        logger: Any? = nil,
        onError: (@Sendable (any Error) async throws -> Void)? = nil,
        job: @escaping @Sendable () async throws -> Void
    ) {}

    /// The same with any schedule.
    public init(
        _ schedule: PreciseTimer.Schedule,
        firstRun: FirstRun = .scheduled,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        missedTicks: PreciseTimer.MissedTickPolicy = .skip,
        label: String? = nil,
        logger: Any? = nil,
        onError: (@Sendable (any Error) async throws -> Void)? = nil,
        job: @escaping @Sendable (PreciseTimer.Tick) async throws -> Void
    ) {}
}
#endif
