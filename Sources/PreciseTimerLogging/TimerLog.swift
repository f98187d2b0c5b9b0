#if Logging
internal import Dispatch
public import Logging
public import PreciseTimer
internal import Synchronization

/// Logs the statistics and the slow handlers of a service with [swift-log](https://github.com/apple/swift-log), while
/// it is held.
///
/// ```swift
/// let log = try TimerLog(of: service, to: logger)      // every minute
/// // info: timers: 60000 ticks, 3 missed; 99 % at most 87 µs late   [ticks: 60000, missed: 3, …]
/// // warning: slow handler: "clock" (App/Clock.swift:12): 1 call longer than 1 ms, the longest 3.2 ms   […]
/// ```
///
/// A report without a tick is not logged; if the lines are made on the same service, their timer counts, too. Each
/// place with slow handlers is logged once, and so is a budget of spinning that is too small. The log turns on
/// `service.collectsStatistics`, and leaves it on when it is released. The lines are written on a Dispatch queue, never
/// on the service's thread.
public final class TimerLog: Sendable {
    private let service: TimerService
    private let logger: Logger
    private let level: Logger.Level
    /// What was logged so far.
    private let logged: Synchronization.Mutex<Logged>

    private struct Logged {
        var statistics: PreciseTimer.Statistics?
        var slowHandlers = 0
        var hasShortage = false
    }

    /// Begins to log.
    ///
    /// - Parameters:
    ///   - service: the service.
    ///   - logger: the program's logger.
    ///   - level: the level of the statistics; slow handlers are warnings.
    ///   - period: the time from one line to the next.
    ///   - reporting: the service whose timer makes the lines.
    /// - Throws: `TimerError` if the period is not longer than zero, or the system refuses a thread or descriptor.
    public init(
        of service: TimerService,
        to logger: Logger,
        at level: Logger.Level = .info,
        every period: Duration = .seconds(60),
        on reporting: TimerService = .default
    ) throws(TimerError) {
        self.service = service
        self.logger = logger
        self.level = level
        logged = Synchronization.Mutex(Logged())
        try PreciseTimer.schedule(
            .every(period),
            on: reporting,
            deliver: .queue(.global(qos: .utility)),
            label: "the log of timers",
            target: self
        ) { log, _ in log.report() }
        // What was before this object is not logged.
        service.collectsStatistics = true
        logged.withLock { $0.statistics = service.statistics }
    }

    /// Logs the statistics since the last line, and new slow handlers, now.
    public func report() {
        // Read inside the lock, so that two reports at once do not report the same ticks.
        let (recent, slow, shortage) = logged.withLock { logged in
            let (statistics, slow, shortage) = (service.statistics, service.slowHandlers, service.spin?.shortage)
            defer {
                logged.statistics = statistics
                logged.slowHandlers = slow.count
                logged.hasShortage = logged.hasShortage || shortage != nil
            }
            let recent = statistics.map { logged.statistics.map($0.since) ?? $0 }
            return (recent, slow.dropFirst(logged.slowHandlers), logged.hasShortage ? nil : shortage)
        }
        if let recent, recent.ticks > 0 { logger.log(level: level, "timers: \(recent)", metadata: recent.metadata) }
        for handler in slow {
            logger.warning("slow handler: \(handler)", metadata: handler.metadata)
        }
        if let shortage { logger.warning("spinning: \(shortage)") }
    }
}
extension TimerLog: CustomReflectable {
    /// Shows the service alone.
    public var customMirror: Mirror { Mirror(self, children: ["service": service]) }
}
#endif
