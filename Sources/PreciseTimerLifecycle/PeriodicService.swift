#if ServiceLifecycle
public import Logging
public import PreciseTimer
public import ServiceLifecycle
internal import TimerKernel

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
/// It can be changed while it runs: ``reschedule(_:)``, ``pause(keeping:)``, ``resume()`` and ``fire()``, from any
/// thread and from inside the job. Its name and its counts stay.
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
        private(set) var schedule: PreciseTimer.Schedule
        /// How often the schedule was set.
        private var changes = 0
        /// The timer, once it follows the schedule; nil if the service does not run.
        private(set) var timer: PreciseTimer?

        init(_ schedule: PreciseTimer.Schedule) { self.schedule = schedule }

        mutating func set(_ schedule: PreciseTimer.Schedule) { (self.schedule, changes) = (schedule, changes + 1) }

        /// Returns the schedule that a timer must follow. If it does already, as the number of changes says that the
        /// caller knows, returns nil: from then on, orders are the timer's.
        mutating func scheduleToFollow(_ timer: PreciseTimer, _ known: inout Int?) -> PreciseTimer.Schedule? {
            if known == changes {
                self.timer = timer
                return nil
            }
            known = changes
            return schedule
        }

        /// The schedule of a run that begins, with the number of changes; nil if the service is running already.
        mutating func beginServing() -> (schedule: PreciseTimer.Schedule, changes: Int)? {
            defer { isServed = true }
            return isServed ? nil : (schedule, changes)
        }

        mutating func endServing() { (isServed, timer) = (false, nil) }
    }

    let firstRun: FirstRun
    let service: TimerService
    let tolerance: Duration
    let missedTicks: PreciseTimer.MissedTickPolicy
    let label: String?
    let givenLogger: Logger?
    let (file, line): (StaticString, UInt)
    let onError: (@Sendable (any Error) async throws -> Void)?
    let job: @Sendable (PreciseTimer.Tick) async throws -> Void
    let state: Lock<State>

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
        state = Lock(State(schedule))
        (self.firstRun, self.service) = (firstRun, service)
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

    /// Its runs so far, also while a run is going on. From any thread, in constant time. The counts of several
    /// calls of ``run()`` add up.
    public var counts: Counts { state.withLock { $0.counts } }

    // MARK: Changes

    /// Gives the service another schedule, which counts from now. A run that is going on finishes. If the service does
    /// not run, or its first run at the start has not ended, the schedule begins later: with ``run()``, whose error it
    /// is then if it makes no sense, or after that first run. A later call of ``run()`` keeps the new schedule.
    ///
    /// While a service runs, it takes computed deadlines, such as those of a calendar, only if it began with such. A
    /// paused service stays paused. In the last run of a schedule, the service goes on.
    ///
    /// - Throws: `TimerError` if the schedule makes no sense, which leaves the service as it was, or if the service is
    ///   ending.
    public func reschedule(_ schedule: PreciseTimer.Schedule) throws(TimerError) {
        let timer = state.withLock { state in
            if state.timer == nil { state.set(schedule) }
            return state.timer
        }
        guard let timer else { return }
        try timer.reschedule(schedule)
        state.withLock { $0.set(schedule) }
    }

    /// Lets no run begin until ``resume()``. A run that is going on finishes.
    ///
    /// - Parameter kept: what the pause keeps: the time to the next run or, with `.grid`, the deadlines, so that those
    ///   that pass are late when the service is resumed.
    /// - Returns: whether this call paused it. False if its schedule has not begun, as before ``run()`` and during the
    ///   first run at the start, if it is paused already, and if it has ended.
    @discardableResult public func pause(keeping kept: PreciseTimer.PauseKeeping = .remaining) -> Bool {
        state.withLock { $0.timer }?.pause(keeping: kept) ?? false
    }

    /// Lets a paused service run again. Returns false if it is not paused.
    @discardableResult public func resume() -> Bool { state.withLock { $0.timer }?.resume() ?? false }

    /// Asks for a run now, besides the schedule, which does not move. Its tick is an extra one (`isExtra`).
    ///
    /// If a run is going on, this one begins after it, and several calls before it begins are one run. A paused service
    /// runs when it is resumed. A ``reschedule(_:)`` that comes before the run withdraws it.
    ///
    /// - Returns: whether the run comes. False if the schedule has not begun, as before ``run()`` and during the first
    ///   run at the start, and if the service is ending or has ended.
    @discardableResult public func fire() -> Bool { state.withLock { $0.timer }?.fire() ?? false }
}

extension PeriodicService: CustomStringConvertible, CustomReflectable {
    /// The job's name or place, and its current schedule, as in `periodic service "refresh", every 30 s`.
    public var description: String {
        "periodic service \(label.map { "\"\($0)\"" } ?? "(\(file):\(line))"), \(state.withLock { $0.schedule })"
    }

    /// Shows the description alone.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
#endif
