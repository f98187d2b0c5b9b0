#if Metrics
import MetricsTestKit
import PreciseTimer
import PreciseTimerMetrics
import PreciseTimerTestKit
import TestSupport
import Testing

/// The dimensions of metrics: one set of names for each metric, and no two reporters with the same values.
@Suite struct MetricLabelsTests {
    typealias Labels = [String: String]

    let virtual = VirtualTime()
    let backend = TestMetrics()

    private let kept = Box<[TimerMetrics]>()

    /// A reporter that lives until the test removes it.
    private func report(
        of service: TimerService? = nil,
        name: String = "timers",
        service label: String? = nil,
        _ dimensions: [(String, String)] = [],
        factory: TestMetrics? = nil
    ) throws {
        let metrics = try TimerMetrics(
            of: service ?? virtual.service,
            name: name,
            service: label,
            dimensions: dimensions,
            every: .seconds(3_600),
            factory: factory ?? backend,
            on: virtual.service
        )
        kept.value = (kept.value ?? []) + [metrics]
    }

    /// The dimensions of the living counters of one name, in order of the value of `service`.
    private func labels(of metric: String = "timers.ticks", in factory: TestMetrics? = nil) -> [Labels] {
        (factory ?? backend).counters(label: metric)
            .map { Labels(uniqueKeysWithValues: $0.dimensions) }
            .sorted { $0["service", default: ""] < $1["service", default: ""] }
    }

    private func services(of metric: String = "timers.ticks", in factory: TestMetrics? = nil) -> [String] {
        labels(of: metric, in: factory).map { $0["service", default: "none"] }
    }

    @Test func eachServiceHasANameThatIsTheSameInEachRun() throws {
        let own = [try TimerService(.timerFD), try TimerService(.dispatch), try TimerService(.timerFD, clock: .wall)]
        for service in [.default, .wall] + own + [virtual.service] { try report(of: service) }
        let names = ["VirtualAlarm", "dispatch", "shared-timerfd", "shared-timerfd-wall", "timerfd", "timerfd-wall"]
        #expect(services() == names)
    }

    @Test func reportersOfOneKindAreNumbered() throws {
        for _ in 1...3 { try report() }
        #expect(services() == ["VirtualAlarm", "VirtualAlarm-2", "VirtualAlarm-3"])
        #expect(backend.recorders.count == 3, "each has gauges of its own")
        kept.value?.remove(at: 1)
        #expect(services() == ["VirtualAlarm", "VirtualAlarm-3"])
        try report()
        #expect(services() == ["VirtualAlarm", "VirtualAlarm-2", "VirtualAlarm-3"])
    }

    @Test func metricsOfAnotherNameOrFactoryHaveNamesOfTheirOwn() throws {
        let other = TestMetrics()
        try report()
        try report(name: "cache")
        try report(factory: other)
        #expect(services() == ["VirtualAlarm"])
        #expect(services(of: "cache.ticks") == ["VirtualAlarm"])
        #expect(services(in: other) == ["VirtualAlarm"])
    }

    /// The dimensions that two reporters ask for, and those that the second one gets.
    struct Pair: Sendable, CustomTestStringConvertible {
        var first: [(String, String)] = []
        var second: [(String, String)] = []
        let labels: Labels

        var testDescription: String { "\(first), \(second)" }
    }

    private static let pairs = [
        Pair(labels: ["service": "VirtualAlarm-2"]),
        Pair(second: [("clock", "wall")], labels: ["service": "VirtualAlarm/clock=wall"]),
        Pair(second: [("a", "1"), ("b", "2")], labels: ["service": "VirtualAlarm/a=1/b=2"]),
        Pair(second: [("a", "")], labels: ["service": "VirtualAlarm-2"]),
        Pair(first: [("clock", "wall")], labels: ["service": "VirtualAlarm-2", "clock": ""]),
        Pair(first: [("id", "7")], second: [("id", "8")], labels: ["service": "VirtualAlarm-2", "id": "8"]),
        Pair(
            first: [("a", "1"), ("b", "1")],
            second: [("c", "3"), ("b", "2")],
            labels: ["service": "VirtualAlarm/c=3", "a": "", "b": "2"]
        ),
        // A name that the user gave stays as it is if another dimension tells the reporters apart.
        Pair(second: [("service", "x")], labels: ["service": "x"]),
        Pair(first: [("service", "x")], second: [("service", "x")], labels: ["service": "x-2"]),
        Pair(first: [("service", "x")], second: [("service", "x"), ("a", "1")], labels: ["service": "x/a=1"]),
        Pair(
            first: [("service", "x"), ("a", "1")],
            second: [("a", "2"), ("service", "x")],
            labels: ["service": "x", "a": "2"]
        ),
        Pair(
            first: [("a", "1"), ("service", "x")],
            second: [("service", "x"), ("a", "1")],
            labels: ["service": "x-2", "a": "1"]
        ),
    ]

    @Test(arguments: pairs) func allReportersHaveTheLabelsOfTheFirst(pair: Pair) throws {
        try report(pair.first)
        let before = labels()
        try report(pair.second)
        #expect(labels().filter { !before.contains($0) } == [pair.labels])
        let timer = try PreciseTimer.schedule(.once(after: .zero), on: virtual.service) { _, _ in }
        virtual.advance(by: .zero)
        for metrics in kept.value ?? [] { metrics.report() }
        withExtendedLifetime(timer) {}
        let counters = Set(backend.counters.map { $0.dimensions.map(\.0) })
        let gauges = Set(backend.recorders.filter { $0.label.hasSuffix("_seconds") }.map { $0.dimensions.map(\.0) })
        #expect(counters.count == 1 && gauges == Set(counters.map { $0 + ["percentile"] }))
    }

    @Test func theNamesOfLabelsStayAndTheirValuesAreFreeAgain() throws {
        try report([("a", "1")])
        try report()
        kept.value?.removeFirst()
        try report([("b", "2")])
        #expect(labels().allSatisfy { Set($0.keys) == ["service", "a"] })
        kept.value = nil
        #expect(labels() == [])
        try report([("b", "2")])
        #expect(labels() == [["service": "VirtualAlarm/b=2", "a": ""]])
    }

    @Test func aFactoryAtTheAddressOfAnotherBeginsAnew() throws {
        var (addresses, isNew) = (Set<ObjectIdentifier>(), true)
        for name in (0..<10_000).map({ "label\($0)" }) where isNew {
            let factory = TestMetrics()
            isNew = addresses.insert(ObjectIdentifier(factory)).inserted
            try report([(name, "1")], factory: factory)
            #expect(labels(in: factory) == [["service": "VirtualAlarm", name: "1"]])
            kept.value = nil
        }
        #expect(!isNew, "an address came again")
    }

    @Test func theServiceMayHaveANameOfItsOwn() throws {
        try report(service: "cache")
        #expect(labels() == [["service": "cache"]])
    }

    private static let refused: [[(String, String)]] = [
        [("quantile", "1")], [("le", "1")], [("percentile", "1")], [("__name__", "x")], [("", "x")], [("service", "")],
        [("a", "1"), ("a", "1")], [("service", "a"), ("service", "b")],
    ]

    @Test(arguments: refused) func labelsThatABackendCannotTakeAreRefused(dimensions: [(String, String)]) {
        let error = #expect(throws: TimerError.self) { try report(dimensions) }
        #expect(error?.code == .invalidOption)
        #expect(error?.attempted.contains("\"\(dimensions.last?.0 ?? "")\"") == true)
        #expect(backend.counters.isEmpty)
    }

    @Test func aServiceWithTwoNamesIsRefused() {
        let error = #expect(throws: TimerError.self) { try report(service: "a", [("service", "b")]) }
        #expect(error?.attempted == "reporting with the dimension \"service\" (it is given twice)")
    }

    @Test func aRefusedReporterKeepsNoValues() throws {
        let refusal = #expect(throws: TimerError.self) {
            try TimerMetrics(of: virtual.service, dimensions: [("a", "1")], every: .zero, factory: backend)
        }
        #expect(refusal?.code == .invalidSchedule && backend.counters.isEmpty && backend.recorders.isEmpty)
        try report()
        #expect(services() == ["VirtualAlarm"])
    }
}
#endif
