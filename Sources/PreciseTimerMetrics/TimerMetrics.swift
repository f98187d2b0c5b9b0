#if Metrics
public import CoreMetrics
internal import Dispatch
public import PreciseTimer
internal import Synchronization

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
/// The percentiles have the dimension `quantile`, with the values 0.5, 0.99 and 1.0.
///
/// A gauge keeps its value while there are no ticks. If the reports are made on the same service, their timer counts,
/// too.
///
/// It turns on `service.collectsStatistics`, and leaves it on when it is released. The reports are
/// made on a Dispatch queue, never on the service's thread.
public final class TimerMetrics: Sendable {
    private static let quantiles = [0.5, 0.99, 1]

    private let service: TimerService
    private let counters: (ticks: Counter, missed: Counter, slowHandlers: Counter)
    private let active: Gauge
    private let lateness: [Gauge]
    private let handlerTime: [Gauge]
    /// What was reported so far.
    private let reported: Synchronization.Mutex<(statistics: PreciseTimer.Statistics?, slowHandlers: Int)>

    /// Begins to report.
    ///
    /// - Parameters:
    ///   - service: the service.
    ///   - name: the beginning of all names of metrics, before the first point.
    ///   - dimensions: dimensions of all metrics, such as the name of the service.
    ///   - period: the time from one report to the next.
    ///   - factory: makes the metrics.
    ///   - reporting: the service whose timer makes the reports.
    /// - Throws: `TimerError` if the period is not longer than zero, or the system refuses a thread or descriptor.
    public init(
        of service: TimerService,
        name: String = "timers",
        dimensions: [(String, String)] = [],
        every period: Duration = .seconds(10),
        factory: any MetricsFactory = MetricsSystem.factory,
        on reporting: TimerService = .default
    ) throws(TimerError) {
        self.service = service
        let counter = { (metric: String) in
            Counter(label: "\(name).\(metric)", dimensions: dimensions, factory: factory)
        }
        counters = (counter("ticks"), counter("missed"), counter("slow_handlers"))
        active = Gauge(label: "\(name).active", dimensions: dimensions, factory: factory)
        let gauges = { (metric: String) in
            Self.quantiles.map { quantile in
                let dimensions = dimensions + [("quantile", "\(quantile)")]
                return Gauge(label: "\(name).\(metric)", dimensions: dimensions, factory: factory)
            }
        }
        (lateness, handlerTime) = (gauges("lateness_seconds"), gauges("handler_seconds"))
        reported = Synchronization.Mutex((nil, 0))
        try PreciseTimer.schedule(
            .every(period),
            on: reporting,
            deliver: .queue(.global(qos: .utility)),
            label: "the metrics of \(name)",
            target: self
        ) { metrics, _ in metrics.report() }
        // What was before this object is not reported.
        service.collectsStatistics = true
        reported.withLock { $0 = (service.statistics, service.slowHandlers.map(\.count).reduce(0, +)) }
    }

    /// Makes a report now, besides the periodic ones.
    public func report() {
        // Read inside the lock, so that two reports at once do not report the same ticks.
        let news = reported.withLock { reported -> (PreciseTimer.Statistics, Int)? in
            guard let statistics = service.statistics else { return nil }
            let slowHandlers = service.slowHandlers.map(\.count).reduce(0, +)
            defer { reported = (statistics, slowHandlers) }
            let recent = reported.statistics.map(statistics.since) ?? statistics
            return (recent, slowHandlers - min(slowHandlers, reported.slowHandlers))
        }
        guard let (recent, slow) = news else { return }
        counters.ticks.increment(by: recent.ticks)
        counters.missed.increment(by: recent.missed)
        counters.slowHandlers.increment(by: slow)
        active.record(service.pendingCount)
        for (gauges, histogram) in [(lateness, recent.lateness), (handlerTime, recent.handlerTime)] {
            for (quantile, gauge) in zip(Self.quantiles, gauges) {
                if let length = histogram.percentile(quantile) { gauge.record(length / .seconds(1)) }
            }
        }
    }
}
extension TimerMetrics: CustomReflectable {
    /// Shows the service alone.
    public var customMirror: Mirror { Mirror(self, children: ["service": service]) }
}
#endif
