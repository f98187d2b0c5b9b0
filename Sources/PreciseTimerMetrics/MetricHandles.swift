#if Metrics
internal import CoreMetrics
internal import PreciseTimer

/// The metrics of one reporter, as its factory made them.
struct MetricHandles: Sendable {
    /// What came since the last report.
    struct News {
        /// Nil if the service collects no statistics.
        let recent: PreciseTimer.Statistics?
        let slowCalls: Int
    }

    private static let percentiles = [("50", 0.5), ("99", 0.99), ("100", 1)]

    private let ticks, missed, slowHandlers: Counter
    private let active: Gauge
    private let lateness: [Gauge]
    private let handlerTime: [Gauge]

    init(name: String, dimensions: [(String, String)], factory: any MetricsFactory) {
        let counter = { (metric: String) in
            Counter(label: "\(name).\(metric)", dimensions: dimensions, factory: factory)
        }
        (ticks, missed, slowHandlers) = (counter("ticks"), counter("missed"), counter("slow_handlers"))
        active = Gauge(label: "\(name).active", dimensions: dimensions, factory: factory)
        let gauges = { (metric: String) in
            // Not `quantile`, which is the label of a summary.
            Self.percentiles.map { percentile, _ in
                let dimensions = dimensions + [("percentile", percentile)]
                return Gauge(label: "\(name).\(metric)", dimensions: dimensions, factory: factory)
            }
        }
        (lateness, handlerTime) = (gauges("lateness_seconds"), gauges("handler_seconds"))
    }

    /// Adds to the counters.
    func count(_ news: News) {
        ticks.increment(by: news.recent?.ticks ?? 0)
        missed.increment(by: news.recent?.missed ?? 0)
        slowHandlers.increment(by: news.slowCalls)
    }

    /// Sets the gauges. A percentile of nothing is not a number.
    func show(_ recent: PreciseTimer.Statistics?, active count: Int) {
        active.record(count)
        for (gauges, histogram) in [(lateness, recent?.lateness), (handlerTime, recent?.handlerTime)] {
            for (gauge, (_, share)) in zip(gauges, Self.percentiles) {
                gauge.record(histogram?.percentile(share).map { $0 / .seconds(1) } ?? .nan)
            }
        }
    }

    /// Sets the gauges to no number.
    func hide() { for gauge in [active] + lateness + handlerTime { gauge.record(Double.nan) } }

    /// Tells the backend that none of them is used again.
    func destroy() {
        for counter in [ticks, missed, slowHandlers] { counter.destroy() }
        for gauge in [active] + lateness + handlerTime { gauge.destroy() }
    }
}
#endif
