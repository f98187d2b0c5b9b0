#if Metrics
internal import CoreMetrics
internal import PreciseTimer

/// A gauge that its backend has only while it has a value: an older value would look like the present one, and not
/// every backend knows NaN. One thread at a time shows a value.
final class PassingGauge: Sendable {
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
struct MetricHandles: Sendable {
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
final class ServiceLabel: Sendable {
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
