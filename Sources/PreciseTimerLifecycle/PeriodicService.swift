#if ServiceLifecycle
public import Logging
public import PreciseTimer
public import ServiceLifecycle
internal import Synchronization

/// Runs a job again and again, as a service of
/// [swift-service-lifecycle](https://github.com/swift-server/swift-service-lifecycle).
///
/// ```swift
/// let refresh = PeriodicService(every: .seconds(30), firstRun: .atStart, label: "refresh", logger: logger) {
///     try await cache.refresh()
/// }
/// let group = ServiceGroup(services: [server, refresh], gracefulShutdownSignals: [.sigterm], logger: logger)
/// ```
///
/// - **A slow run** never overlaps with the next one. The deadlines that pass during it are missed: under
///   `missedTicks: .skip`, one late run follows at once, and its tick says how many others were `missed`. The later
///   runs are on the grid again. `.fixedDelay` counts from the end of a run, and misses nothing.
/// - **A run that throws** is logged and counted, and the schedule goes on. `onError` may end the service instead.
/// - **A graceful shutdown** lets the running run finish, and starts no other. It takes as long as that run, so give
///   the group a `maximumGracefulShutdownDuration`: after that the group cancels the job's task. A long job asks
///   `Task.isShuttingDownGracefully` between two steps.
/// - **A cancelled group** cancels the job's task. A `CancellationError` then is no failure, nor in a shutdown.
/// - **A backend that fails** ends the service with its error: ``run()`` throws.
///
/// The job runs in the task of ``run()``, and has the task-local values of the group's caller. A group does not bind
/// its logger there: pass it, or call the group in `withLogger`.
public final class PeriodicService: Service {
    /// When a service runs its job for the first time, and what it means if that run fails.
    @nonexhaustive public enum FirstRun: Sendable {
        /// At the first deadline of the schedule. A failure is like any other.
        case scheduled
        /// When the service starts. The schedule begins when that run has ended. A failure is like any other.
        case atStart
        /// The same, but if the run throws, the service throws the error, too, and runs no more. The group then does
        /// what its `failureTerminationBehavior` for this service says: by default it cancels the other services.
        case atStartOrFail
    }

    /// What a service has done so far. A plain value.
    public struct Counts: Sendable {
        /// How many runs have ended, whether they failed or not.
        public internal(set) var runs = 0
        /// How many runs have thrown an error. A run that was cancelled is not one of them.
        public internal(set) var failures = 0
        /// How many of the latest runs have failed, one after the other; 0 after a run that succeeded.
        public internal(set) var failuresInARow = 0
        /// The error of the latest run that failed; nil if there was none.
        public internal(set) var lastError: (any Error)?
        /// How many deadlines had no run of their own, because an earlier run was slow, or the machine stood still.
        /// They are counted when the next run begins: look at ``runningSince`` for a run that hangs.
        public internal(set) var missed = 0
        /// When the run began that has not ended yet, on the clock of the timer service; nil between two runs.
        public internal(set) var runningSince: TimerInstant?
    }

    struct State {
        var isServed = false
        var counts = Counts()
    }

    let schedule: PreciseTimer.Schedule
    let firstRun: FirstRun
    let service: TimerService
    let tolerance: Duration
    let missedTicks: PreciseTimer.MissedTickPolicy
    let label: String?
    let givenLogger: Logger?
    let (file, line): (StaticString, UInt)
    let onError: (@Sendable (any Error) async throws -> Void)?
    let job: @Sendable (PreciseTimer.Tick) async throws -> Void
    let state = Mutex(State())

    /// Runs a job that receives the facts of its tick: which deadline it is for, and how many were missed before.
    ///
    /// ```swift
    /// let rotation = PeriodicService(.every(.seconds(60), alignedTo: .origin(on: .wall)), on: .wall) { tick in
    ///     try await files.rotate(at: tick.deadline)
    /// }
    /// ```
    ///
    /// A schedule that makes no sense is an error of ``run()``, before the first run.
    ///
    /// - Parameters:
    ///   - schedule: when to run: any schedule of a timer. After its last deadline, ``run()`` returns. A group ends
    ///     with an error then, unless the service's `successTerminationBehavior` says otherwise.
    ///   - firstRun: whether the job runs once at the start, too. Its tick is an extra one (`isExtra`).
    ///   - service: the running timer backend to use.
    ///   - tolerance: how late a run may begin on purpose; timers with a tolerance share wake-ups. Not negative.
    ///   - missedTicks: what happens to deadlines that pass during a run.
    ///   - label: the name of the job in the log, in the group's messages and in `TimerService.activeTimers`.
    ///   - logger: where errors are logged; nil for `Logger.current` of the task that calls ``run()``, which has an
    ///     empty label unless your program binds one.
    ///   - file: the file that messages name.
    ///   - line: the line that messages name.
    ///   - onError: called after a run has failed, with the error that was logged. If it throws, the service ends with
    ///     that error. Not called for a failure that ends the service anyway (``FirstRun/atStartOrFail``).
    ///   - job: the work of one run. It may be isolated to an actor.
    public init(
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
        job: @escaping @Sendable (_ tick: PreciseTimer.Tick) async throws -> Void
    ) {
        (self.schedule, self.firstRun, self.service) = (schedule, firstRun, service)
        (self.tolerance, self.missedTicks) = (tolerance, missedTicks)
        (self.label, self.givenLogger, self.file, self.line) = (label, logger, file, line)
        (self.onError, self.job) = (onError, job)
    }

    /// Runs a job every `period`, for the first time after one period, or at the start. The other parameters are those
    /// of the form with a schedule, whose job receives its tick.
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
        ) { _ in try await job() }
    }

    /// What it has done so far, also while a run is going on. From any thread, in constant time. The counts of several
    /// calls of ``run()`` add up.
    public var counts: Counts { state.withLock { $0.counts } }
}

extension PeriodicService: CustomStringConvertible, CustomReflectable {
    /// The job's name or place, and its schedule, as in `periodic service "refresh", every 30 s`.
    public var description: String {
        "periodic service \(label.map { "\"\($0)\"" } ?? "(\(file):\(line))"), \(schedule)"
    }

    /// Shows the description alone.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
#endif
