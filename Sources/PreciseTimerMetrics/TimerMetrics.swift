#if Metrics
public import CoreMetrics
internal import Dispatch
public import PreciseTimer

/// Reports the statistics of a service to [swift-metrics](https://github.com/apple/swift-metrics), while it is held.
///
/// ```swift
/// let metrics = try TimerMetrics(of: service)      // every ten seconds, to the program's metrics backend
/// ```
///
/// | metric | kind | value |
/// |---|---|---|
/// | `timers.ticks`, `timers.missed` | counter | ticks, and deadlines without a tick |
/// | `timers.slow_handlers` | counter | calls of slow handlers, at the first 16 places |
/// | `timers.active` | gauge | timers that have not ended |
/// | `timers.lateness_seconds` | gauge | percentiles of the lateness since the last report |
/// | `timers.handler_seconds` | gauge | percentiles of the time of handlers since the last report |
///
/// Each metric has the dimension `service`, which distinguishes the services of a program. By default it is made of the
/// service's backend and clock, as in `timerfd`, `shared-timerfd` and `shared-timerfd-wall`. If a living reporter with
/// the same name and factory has that already, it gets the smallest free number: `timerfd-2`. Factories that are
/// values, such as that of swift-prometheus, are one if their type is.
///
/// The percentiles have the dimension `percentile`, too, with the values 50, 99 and 100. If there was no tick since the
/// last report, they have no value: their gauges are destroyed until they have one, so no old value looks like the
/// current one, and an alert on a late tick ends by itself. A backend that ignores the destruction, such as statsd,
/// keeps the last value; with `recordsNaN: true`, a gauge without a value is NaN instead. Not every backend knows NaN:
/// one that writes JSON may lose all gauges of the program to it. If the reports are made on the same service, their
/// timer counts, too.
///
/// When the object is released, it counts the ticks since the last report and destroys its metrics, on the thread that
/// released it. It turns on `service.collectsStatistics`, and leaves it on. The periodic reports are made on a Dispatch
/// queue, never on the service's thread.
public final class TimerMetrics: Sendable {
    private let service: TimerService
    private let label: ServiceLabel
    private let handles: MetricHandles
    private let reports = Lock(Reports())

    private struct Reports {
        /// The reports so far; nil before the first report.
        var reported: (statistics: PreciseTimer.Statistics?, slowHandlers: Int)?
        /// How many reports are wanted: one that is being made, and others.
        var requests = 0
        /// Whether the timer of the reports has ended, and the gauges still show values.
        var isLast = false
    }

    /// Begins to report.
    ///
    /// - Parameters:
    ///   - service: the service.
    ///   - name: the beginning of all names of metrics, before the first point.
    ///   - label: the value of the dimension `service`, which no other living reporter with the same name and factory
    ///     may have; nil for one that is made of the service's backend and clock.
    ///   - period: the time from one report to the next.
    ///   - recordsNaN: whether a gauge without a value is NaN. Otherwise it is destroyed.
    ///   - factory: makes the metrics.
    ///   - reporting: the service whose timer makes the reports. If that is shut down, all gauges are without a value.
    ///   - file: the file that `TimerService.activeTimers`, errors and the warnings of debug builds name.
    ///   - line: the line that they name.
    /// - Throws: `TimerError` if the period is not longer than zero, if the label is empty or that of another reporter,
    ///   which the error names, or if the system refuses a thread or descriptor.
    public init(
        of service: TimerService,
        name: String = "timers",
        service label: String? = nil,
        every period: Duration = .seconds(10),
        recordsNaN: Bool = false,
        factory: any MetricsFactory = MetricsSystem.factory,
        on reporting: TimerService = .default,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(TimerError) {
        self.service = service
        self.label = try ServiceLabel(label, of: service, at: "\(file):\(line)", in: name, by: factory)
        handles = MetricHandles(name: name, service: self.label.text, recordsNaN: recordsNaN, factory: factory)
        try PreciseTimer.schedule(
            .every(period),
            on: reporting,
            deliver: .queue(.global(qos: .utility)),
            label: "the metrics of \(name)",
            file: file,
            line: line,
            target: self,
            onEnd: { [weak self] _ in
                if let self { DispatchQueue.global(qos: .utility).async { self.reportForTheLastTime() } }
            },
            handler: { metrics, _ in metrics.report() }
        )
        service.collectsStatistics = true
        // Ticks before this object existed are not reported.
        reports.withLock(inForkedChild: ()) { $0.reported = (service.statistics, service.slowCalls) }
        report()
    }

    deinit {
        if reports.isOfAnotherProcess { return }
        // A backend that sends each value at once gets the last ones, and keeps no gauge that is never set again.
        if let news = news { handles.count(news) }
        handles.hide()
        // The label is free again after this, so no other reporter has handles that are destroyed here.
        handles.destroy()
    }

    /// Makes a report now, besides the periodic ones. If one is being made, its thread makes this one after it, and the
    /// call returns at once.
    public func report() {
        // One at a time, so that a gauge has the value of the last report. The backend is not called under the lock.
        let isAlone = reports.withLock(inForkedChild: false) { reports in
            reports.requests += 1
            return reports.requests == 1
        }
        guard isAlone else { return }
        repeat {
            let (news, isLast) = (news, takeIsLast())
            if let news { handles.count(news) }
            if isLast { handles.hide() } else { handles.show(news?.recent, active: service.pendingCount) }
        } while hasAnotherRequest
    }

    /// The timer of the reports has ended, and this object has not.
    private func reportForTheLastTime() {
        reports.withLock(inForkedChild: ()) { $0.isLast = true }
        report()
    }

    /// Whether the report that begins leaves no value behind. A later one, which a program asks for, shows values.
    private func takeIsLast() -> Bool {
        reports.withLock(inForkedChild: false) { reports in
            defer { reports.isLast = false }
            return reports.isLast
        }
    }

    /// Takes what came since the last report; nil before the first.
    private var news: MetricHandles.News? {
        reports.withLock(inForkedChild: nil) { reports in
            guard let reported = reports.reported else { return nil }
            let (statistics, slowCalls) = (service.statistics, service.slowCalls)
            reports.reported = (statistics, slowCalls)
            return MetricHandles.News(
                recent: statistics.map { now in reported.statistics.map(now.since) ?? now },
                slowCalls: slowCalls - min(slowCalls, reported.slowHandlers)
            )
        }
    }

    /// Ends a report, and returns whether another one was asked for during it.
    private var hasAnotherRequest: Bool {
        reports.withLock(inForkedChild: false) { reports in
            reports.requests = min(reports.requests - 1, 1)
            return reports.requests == 1
        }
    }
}

extension TimerMetrics: CustomReflectable {
    /// Shows the service alone.
    public var customMirror: Mirror { Mirror(self, children: ["service": service]) }
}

extension TimerService {
    /// How many calls of handlers were slow.
    fileprivate var slowCalls: Int { slowHandlers.map(\.count).reduce(0, +) }
}

/// A gauge that its backend has only while it has a value: an older value would look like the current one, and not
/// every backend knows NaN. One thread at a time shows a value.
private final class PassingGauge: Sendable {
    private let make: @Sendable () -> Gauge
    /// Whether it is NaN, and stays, if it has no value.
    private let isLasting: Bool
    private let gauge = Lock<Gauge?>(nil)

    init(isLasting: Bool, make: @escaping @Sendable () -> Gauge) { (self.isLasting, self.make) = (isLasting, make) }

    /// Sets the gauge; nil for no value. The backend is not called under the lock.
    func show(_ value: Double?) {
        guard let value = value ?? (isLasting ? .nan : nil) else { return remove() }
        let gauge = gauge.withLock { $0 } ?? make()
        self.gauge.withLock { $0 = gauge }
        gauge.record(value)
    }

    /// Tells the backend that the gauge is not used again, unless it gets a value.
    func remove() {
        let removed = gauge.withLock { gauge in
            defer { gauge = nil }
            return gauge
        }
        removed?.destroy()
    }
}

/// The metrics of one reporter, as its factory made them.
private struct MetricHandles: Sendable {
    /// What came since the last report.
    struct News {
        /// Nil if the service collects no statistics.
        let recent: PreciseTimer.Statistics?
        let slowCalls: Int
    }

    private static let percentiles = [("50", 0.5), ("99", 0.99), ("100", 1)]

    private let ticks, missed, slowHandlers: Counter
    private let active: PassingGauge
    private let lateness: [PassingGauge]
    private let handlerTime: [PassingGauge]

    init(name: String, service: String, recordsNaN: Bool, factory: any MetricsFactory) {
        let dimensions = [("service", service)]
        let counter = { (metric: String) in
            Counter(label: "\(name).\(metric)", dimensions: dimensions, factory: factory)
        }
        (ticks, missed, slowHandlers) = (counter("ticks"), counter("missed"), counter("slow_handlers"))
        let gauge = { (metric: String, more: [(String, String)]) in
            PassingGauge(isLasting: recordsNaN) {
                Gauge(label: "\(name).\(metric)", dimensions: dimensions + more, factory: factory)
            }
        }
        active = gauge("active", [])
        // Not `quantile`, which is the label of a summary.
        let gauges = { metric in Self.percentiles.map { percentile, _ in gauge(metric, [("percentile", percentile)]) } }
        (lateness, handlerTime) = (gauges("lateness_seconds"), gauges("handler_seconds"))
    }

    /// Adds to the counters.
    func count(_ news: News) {
        ticks.increment(by: news.recent?.ticks ?? 0)
        missed.increment(by: news.recent?.missed ?? 0)
        slowHandlers.increment(by: news.slowCalls)
    }

    /// Sets the gauges. A percentile of nothing has no value.
    func show(_ recent: PreciseTimer.Statistics?, active count: Int) {
        active.show(Double(count))
        for (gauges, histogram) in [(lateness, recent?.lateness), (handlerTime, recent?.handlerTime)] {
            for (gauge, (_, share)) in zip(gauges, Self.percentiles) {
                gauge.show(histogram?.percentile(share).map { $0 / .seconds(1) })
            }
        }
    }

    /// Leaves the gauges without values.
    func hide() { for gauge in [active] + lateness + handlerTime { gauge.show(nil) } }

    /// Tells the backend that none of them is used again.
    func destroy() {
        for counter in [ticks, missed, slowHandlers] { counter.destroy() }
        for gauge in [active] + lateness + handlerTime { gauge.remove() }
    }
}

/// The value of `service` in the metrics of one reporter. While this object lives, no other reporter has it in metrics
/// of the same name and factory: they would overwrite each other's gauges.
private final class ServiceLabel: Sendable {
    private struct Key: Hashable, Sendable {
        let name: String
        /// The factory's object, or the type of a factory that is a value. The reporter's metrics hold the object, so
        /// no other one is at its address.
        let factory: ObjectIdentifier
        var service: String
    }

    /// The living reporters, each as an error names it.
    private static let living = Lock<[Key: String]>([:])

    private let key: Key

    var text: String { key.service }

    /// Takes a value.
    ///
    /// - Parameters:
    ///   - given: the value that the user gave; nil for the service's name, with the smallest free number.
    ///   - service: the service.
    ///   - place: where the reporter was made.
    ///   - name: the beginning of the metrics' names.
    ///   - factory: makes the metrics.
    /// - Throws: `TimerError` if the given value is empty, or if another reporter has it.
    init(
        _ given: String?,
        of service: TimerService,
        at place: String,
        in name: String,
        by factory: any MetricsFactory
    ) throws(TimerError) {
        let reporter = "\(service.reportedName) at \(place)"
        if given == "" { throw Self.error(reporter, "", "it must tell this service from others") }
        let kind = type(of: factory)
        let identity = kind is AnyClass ? ObjectIdentifier(factory as AnyObject) : ObjectIdentifier(kind)
        let wanted = Key(name: name, factory: identity, service: given ?? service.reportedName)
        key = try Self.living.withLock(inForkedChild: wanted) { living throws(TimerError) in
            var key = wanted
            if given == nil {
                key.service = key.service.numbered {
                    living[Key(name: name, factory: identity, service: $0)] == nil
                }
            }
            if let other = living[key] { throw Self.error(reporter, key.service, "\(name) has that of \(other)") }
            living[key] = reporter
            return key
        }
    }

    private static func error(_ reporter: String, _ label: String, _ reason: String) -> TimerError {
        TimerError(.invalidOption, "reporting \(reporter) with the label \"\(label)\" (\(reason))")
    }

    deinit { Self.living.withLock(inForkedChild: ()) { $0[key] = nil } }
}
#endif
