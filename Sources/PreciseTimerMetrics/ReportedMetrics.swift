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

    init(name: String, dimensions: [(String, String)], recordsNaN: Bool, factory: any MetricsFactory) {
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

/// The labels that a reporter asks for.
struct LabelRequest {
    /// The value of `service`.
    let service: String
    /// Whether the user gave that value.
    let isGiven: Bool
    /// The user's other labels, with different names.
    let others: [(name: String, value: String)]

    /// Checks what the user gave.
    ///
    /// - Throws: `TimerError` for a name that a backend or a report gives a meaning of its own, for two labels of one
    ///   name, and for an empty name.
    init(_ service: String?, _ dimensions: [(String, String)], of reported: TimerService) throws(TimerError) {
        let all = (service.map { [("service", $0)] } ?? []) + dimensions
        var names: Set<String> = []
        for (name, value) in all {
            if let reason = Self.fault(of: name, value) ?? (names.insert(name).inserted ? nil : "it is given twice") {
                throw TimerError(.invalidOption, "reporting with the dimension \"\(name)\" (\(reason))")
            }
        }
        let given = all.first { $0.0 == "service" }?.1
        (self.service, isGiven) = (given ?? reported.reportedName, given != nil)
        others = all.filter { $0.0 != "service" }.map { (name: $0.0, value: $0.1) }
    }

    private static func fault(of name: String, _ value: String) -> String? {
        switch name {
        case "": "it has no name"
        case "service" where value.isEmpty: "it must tell this service from others, and is empty"
        case "percentile": "the reports use it"
        // https://prometheus.io/docs/instrumenting/exposition_formats/
        case "quantile", "le": "summaries and histograms use it"
        case _ where name.hasPrefix("__"): "names that begin with two underscores are reserved"
        default: nil
        }
    }
}

/// The labels of the reporters whose metrics have one name and one factory.
///
/// Backends such as Prometheus expect one set of label names for each metric, also after the metric was destroyed: some
/// versions of swift-prometheus end the process otherwise. So all reporters have the labels of the first one. And no
/// two that live have the same values: they would overwrite each other's gauges.
struct LabelFamily {
    /// The names of the labels besides `service`.
    let names: [String]
    /// The values of the labels besides `service`, by its value.
    private var living: [String: Set<[String]>] = [:]

    /// A family with the labels of its first reporter.
    init(first request: LabelRequest) { names = request.others.map(\.name) }

    /// Gives a reporter its values of the labels.
    mutating func admit(_ request: LabelRequest) -> LabelValues {
        let others = names.map { name in request.others.first { $0.name == name }?.value ?? "" }
        // An empty value says the same as a missing label.
        let foreign = request.others.filter { !names.contains($0.name) && !$0.value.isEmpty }
        let suffix = foreign.map { "/\($0.name)=\($0.value)" }.joined()
        let service = request.service.numbered(suffix) { service in
            // A value that the user gave may be that of other reporters, if another label tells them apart.
            request.isGiven ? living[service]?.contains(others) != true : living[service] == nil
        }
        living[service, default: []].insert(others)
        return LabelValues(service: service, others: others)
    }

    /// Forgets a reporter that has ended.
    mutating func remove(_ values: LabelValues) {
        living[values.service]?.remove(values.others)
        if living[values.service]?.isEmpty == true { living[values.service] = nil }
    }
}

/// One reporter's values of its family's labels.
struct LabelValues {
    let service: String
    let others: [String]
}

/// The labels of one reporter. No other one has them while this object lives.
final class MetricLabels: Sendable {
    /// Metrics of one name go to one place.
    private struct Key: Hashable, Sendable {
        let name: String
        /// The factory's object, or the type of a factory that is a value.
        let factory: ObjectIdentifier
    }

    /// A factory that is an object. Sendable: the reference is set once, and any thread may read a weak one.
    private final class Factory: @unchecked Sendable {
        private weak var object: AnyObject?

        init(_ object: AnyObject) { self.object = object }

        /// Asked outside of the lock: it may release the object.
        var isGone: Bool { object == nil }
    }

    /// A family, for as long as its factory lives. A factory that is a value has no end.
    private typealias Home = (family: LabelFamily, factory: Factory?)

    private static let homes = Lock<[Key: Home]>([:])

    /// The names and values, `service` first.
    let dimensions: [(String, String)]
    private let key: Key
    private let values: LabelValues

    /// Takes labels for metrics with this beginning of their names.
    init(_ request: LabelRequest, name: String, factory: any MetricsFactory) {
        let kind = type(of: factory)
        let object = kind is AnyClass ? factory as AnyObject : nil
        let key = Key(name: name, factory: object.map { ObjectIdentifier($0) } ?? .init(kind))
        // The object may be at the address of one that is gone.
        let known = Self.homes.withLock(inForkedChild: [:]) { $0.compactMapValues(\.factory) }
        let gone = known.filter(\.value.isGone)
        var alone = LabelFamily(first: request)
        let (names, values) = Self.homes.withLock(inForkedChild: (alone.names, alone.admit(request))) { homes in
            for (key, factory) in gone where homes[key]?.factory === factory { homes[key] = nil }
            var home = homes[key] ?? (LabelFamily(first: request), object.map { Factory($0) })
            let values = home.family.admit(request)
            homes[key] = home
            return (home.family.names, values)
        }
        (self.key, self.values) = (key, values)
        dimensions = [("service", values.service)] + zip(names, values.others)
    }

    deinit {
        Self.homes.withLock(inForkedChild: ()) { $0[key]?.family.remove(values) }
    }
}
#endif
