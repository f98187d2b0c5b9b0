#if Logging
internal import Dispatch
public import Logging
public import PreciseTimer

/// Logs the statistics and the slow handlers of a service with [swift-log](https://github.com/apple/swift-log), while
/// it is held.
///
/// ```swift
/// let log = try TimerLog(of: service, to: logger)      // every minute
/// // info: timers: 60000 ticks, 3 missed; 99 % at most 87 µs late   [service: timerfd, ticks: 60000, missed: 3, …]
/// // warning: slow handler: "clock" (App/Clock.swift:12): 1 call longer than 1 ms, the longest 3.2 ms   […]
/// ```
///
/// Each line has the metadata `service`, which distinguishes the services of a program. By default it is made of the
/// service's backend and clock, as in `timerfd`, `shared-timerfd` and `shared-timerfd-wall`. A second such service that
/// is logged to loggers of the same label gets a number: `timerfd-2`. If the logger has a `service` of its own, this is
/// `timer_service`.
///
/// Of several reports without a tick, the first one is logged, with the number of timers that have not ended. If the
/// lines are made on the same service, their timer counts, too. Each place with slow handlers is logged once, and so is
/// a budget of spinning that is too small.
///
/// When the object is released, it logs what came since the last line, on the thread that released it. It turns on
/// `service.collectsStatistics`, and leaves it on. The periodic lines are written on a Dispatch queue, never on the
/// service's thread.
public final class TimerLog: Sendable {
    private let service: TimerService
    private let name: LoggedName?
    private let logger: Logger
    private let level: Logger.Level
    /// The lines so far.
    private let logged = Lock(Logged())

    private struct Logged {
        /// Whether there was a line, or could have been.
        var hasBegun = false
        var statistics: PreciseTimer.Statistics?
        /// Whether the last report had no tick.
        var isQuiet = false
        var slowHandlers = 0
        var hasShortage = false
    }

    /// Begins to log.
    ///
    /// - Parameters:
    ///   - service: the service.
    ///   - logger: the program's logger.
    ///   - label: the metadata `service` of each line; nil for a label that is made of the service's backend and clock.
    ///   - level: the level of the statistics; slow handlers are warnings.
    ///   - period: the time from one line to the next.
    ///   - reporting: the service whose timer makes the lines. If that is shut down, a line says so.
    ///   - file: the file that `TimerService.activeTimers` and the warnings of debug builds name.
    ///   - line: the line that they name.
    /// - Throws: `TimerError` if the period is not longer than zero, or the system refuses a thread or descriptor.
    public init(
        of service: TimerService,
        to logger: Logger,
        service label: String? = nil,
        at level: Logger.Level = .info,
        every period: Duration = .seconds(60),
        on reporting: TimerService = .default,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(TimerError) {
        var logger = logger
        name = label == nil ? LoggedName(of: service, label: logger.label) : nil
        let key = logger[metadataKey: "service"] == nil ? "service" : "timer_service"
        if let label = label ?? name?.text { logger[metadataKey: key] = "\(label)" }
        self.service = service
        self.logger = logger
        self.level = level
        try PreciseTimer.schedule(
            .every(period),
            on: reporting,
            deliver: .queue(.global(qos: .utility)),
            label: "the log of timers",
            file: file,
            line: line,
            target: self,
            onEnd: { [weak self] reason in
                if let self { DispatchQueue.global(qos: .utility).async { self.reportForTheLastTime(reason) } }
            },
            handler: { log, _ in log.report() }
        )
        service.collectsStatistics = true
        // The ticks before this object are not logged.
        logged.withLock(inForkedChild: ()) { ($0.hasBegun, $0.statistics) = (true, service.statistics) }
    }

    // The last period may be the only one of a short program.
    deinit { write(news(isLast: true)) }

    /// Logs the statistics since the last line, and new slow handlers, now.
    public func report() { write(news(isLast: false)) }

    /// The timer of the lines has ended, and this object has not.
    private func reportForTheLastTime(_ reason: PreciseTimer.EndReason) {
        write(news(isLast: true))
        let hasFailed = if case .backendFailed = reason { true } else { false }
        logger.log(level: hasFailed ? .warning : level, "timers: no more lines: \(reason)")
    }

    private struct News {
        var recent: PreciseTimer.Statistics?
        /// Whether this is the first report of several without a tick.
        var becomesQuiet = false
        var slowHandlers: ArraySlice<TimerService.SlowHandler> = []
        var shortage: String?
    }

    /// Takes what came since the last report.
    private func news(isLast: Bool) -> News {
        // Read inside the lock, so that two reports at once do not report the same ticks.
        logged.withLock(inForkedChild: News()) { logged in
            guard logged.hasBegun else { return News() }
            let (statistics, slow, shortage) = (service.statistics, service.slowHandlers, service.spin?.shortage)
            let recent = statistics.map { now in logged.statistics.map(now.since) ?? now }
            let isQuiet = recent?.ticks ?? 0 == 0
            let news = News(
                recent: recent,
                becomesQuiet: isQuiet && !logged.isQuiet && !isLast,
                slowHandlers: slow.dropFirst(logged.slowHandlers),
                shortage: logged.hasShortage ? nil : shortage
            )
            (logged.statistics, logged.isQuiet, logged.slowHandlers) = (statistics, isQuiet, slow.count)
            logged.hasShortage = logged.hasShortage || shortage != nil
            return news
        }
    }

    private func write(_ news: News) {
        if let recent = news.recent, recent.ticks > 0 {
            logger.log(level: level, "timers: \(recent)", metadata: recent.metadata)
        }
        if news.becomesQuiet {
            let active = service.pendingCount
            let facts = news.recent.map { "\($0)" } ?? "the service collects no statistics"
            let metadata = news.recent?.metadata ?? [:]
            logger.log(level: level, "timers: \(facts); \(active) active", metadata: metadata)
        }
        for handler in news.slowHandlers {
            logger.warning("slow handler: \(handler)", metadata: handler.metadata)
        }
        if let shortage = news.shortage { logger.warning("spinning: \(shortage)") }
    }
}

extension TimerLog: CustomReflectable {
    /// Shows the service alone.
    public var customMirror: Mirror { Mirror(self, children: ["service": service]) }
}

/// The name of a service in the lines of living logs. Of those to loggers of one label, no other service has it.
private final class LoggedName: Sendable {
    /// The names by the label of the logger and the service, and how many logs each has.
    private static let living = Lock<[String: [ObjectIdentifier: (name: String, logs: Int)]]>([:])

    let text: String
    private let label: String
    /// The log keeps the service, so that no other one is at its address.
    private let service: ObjectIdentifier

    init(of logged: TimerService, label: String) {
        let (service, wanted) = (ObjectIdentifier(logged), logged.reportedName)
        (self.label, self.service) = (label, service)
        text = Self.living.withLock(inForkedChild: wanted) { living in
            let names = living[label] ?? [:]
            let name = names[service]?.name ?? wanted.numbered { name in !names.values.contains { $0.name == name } }
            living[label, default: [:]][service] = (name, (names[service]?.logs ?? 0) + 1)
            return name
        }
    }

    deinit {
        Self.living.withLock(inForkedChild: ()) { living in
            guard let (name, logs) = living[label]?[service] else { return }
            living[label]?[service] = logs > 1 ? (name, logs - 1) : nil
            if living[label]?.isEmpty == true { living[label] = nil }
        }
    }
}

extension PreciseTimer.Tick {
    /// The facts of the tick, for a log line: `logger.warning("late", metadata: tick.metadata)`. Durations are in
    /// nanoseconds.
    public var metadata: Logger.Metadata {
        ["index": "\(index)", "lateness_ns": "\(nanoseconds(lateness))", "missed": "\(missed)"]
    }
}

extension PreciseTimer.Statistics {
    /// The statistics, for a log line. Durations are in nanoseconds; those that do not exist are left out.
    public var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = ["ticks": "\(ticks)", "missed": "\(missed)"]
        let durations = [
            ("lateness_p50_ns", lateness.percentile(0.5)), ("lateness_p99_ns", lateness.percentile(0.99)),
            ("lateness_max_ns", lateness.longest), ("handler_p99_ns", handlerTime.percentile(0.99)),
            ("handler_max_ns", handlerTime.longest),
        ]
        for (name, duration) in durations { metadata[name] = duration.map { "\(nanoseconds($0))" } }
        return metadata
    }
}

extension TimerService.SlowHandler {
    /// The facts of a slow handler, for a log line. Durations are in nanoseconds.
    public var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = [
            "place": "\(file):\(line)", "period_ns": "\(nanoseconds(period))",
            "longest_ns": "\(nanoseconds(longest))", "calls": "\(count)",
        ]
        metadata["label"] = label.map { "\($0)" }
        return metadata
    }
}

extension TimerError {
    /// The facts of the error, for a log line.
    public var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = ["code": "\(code)", "attempted": "\(attempted)"]
        metadata["errno"] = errno.map { "\($0)" }
        return metadata
    }
}

private func nanoseconds(_ duration: Duration) -> Int64 { duration.nanosecondsRoundedUp }
#endif
