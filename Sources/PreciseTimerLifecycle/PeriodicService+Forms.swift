#if ServiceLifecycle
public import Logging
public import PreciseTimer

/// The shorter forms: a period instead of a schedule, and a job that needs no facts of its tick.
extension PeriodicService {
    /// Runs a job. The parameters are those of the form whose job receives its tick.
    public convenience init(
        _ schedule: PreciseTimer.Schedule,
        firstRun: FirstRun = .scheduled,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        missedTicks: PreciseTimer.MissedTickPolicy = .skip,
        label: String? = nil,
        logger: Logger? = nil,
        file: StaticString = #fileID,
        line: UInt = #line,
        onError: (@Sendable (any Error) async throws -> Void)? = nil,
        job: @escaping @Sendable () async throws -> Void
    ) {
        self.init(
            schedule,
            firstRun: firstRun,
            on: service,
            tolerance: tolerance,
            missedTicks: missedTicks,
            label: label,
            logger: logger,
            file: file,
            line: line,
            onError: onError
        ) { (_: PreciseTimer.Tick) in try await job() }
    }

    /// Runs a job every `period`, for the first time after one period, or at the start. The other parameters are those
    /// of the form with a schedule.
    public convenience init(
        every period: Duration,
        firstRun: FirstRun = .scheduled,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        missedTicks: PreciseTimer.MissedTickPolicy = .skip,
        label: String? = nil,
        logger: Logger? = nil,
        file: StaticString = #fileID,
        line: UInt = #line,
        onError: (@Sendable (any Error) async throws -> Void)? = nil,
        job: @escaping @Sendable () async throws -> Void
    ) {
        self.init(
            .every(period),
            firstRun: firstRun,
            on: service,
            tolerance: tolerance,
            missedTicks: missedTicks,
            label: label,
            logger: logger,
            file: file,
            line: line,
            onError: onError
        ) { (_: PreciseTimer.Tick) in try await job() }
    }

    /// Runs a job that receives the facts of its tick every `period`. The parameters are those of the form with a
    /// schedule.
    public convenience init(
        every period: Duration,
        firstRun: FirstRun = .scheduled,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        missedTicks: PreciseTimer.MissedTickPolicy = .skip,
        label: String? = nil,
        logger: Logger? = nil,
        file: StaticString = #fileID,
        line: UInt = #line,
        onError: (@Sendable (any Error) async throws -> Void)? = nil,
        job: @escaping @Sendable (_ tick: PreciseTimer.Tick) async throws -> Void
    ) {
        self.init(
            .every(period),
            firstRun: firstRun,
            on: service,
            tolerance: tolerance,
            missedTicks: missedTicks,
            label: label,
            logger: logger,
            file: file,
            line: line,
            onError: onError,
            job: job
        )
    }
}
#endif
