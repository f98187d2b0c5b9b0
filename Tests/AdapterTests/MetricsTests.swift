#if Metrics
import CoreMetrics
import Dispatch
import MetricsTestKit
import PreciseTimer
import PreciseTimerMetrics
import PreciseTimerTestKit
import TestSupport
import Testing

/// What is reported about a service, and where.
@Suite(.waits("the metrics of a service with a thread of its own")) struct MetricsTests {
    let virtual = VirtualTime()
    let backend = TestMetrics()
    let log = Log()

    private let kept = Box<TimerMetrics>()

    /// A reporter that lives until the test removes it.
    @discardableResult
    private func metrics(
        of service: TimerService? = nil,
        every period: Duration = .seconds(3_600),
        recordsNaN: Bool = false,
        on reporting: TimerService? = nil
    ) throws -> TimerMetrics {
        let (service, reporting) = (service ?? virtual.service, reporting ?? virtual.service)
        let metrics = try TimerMetrics(
            of: service,
            service: "test",
            every: period,
            recordsNaN: recordsNaN,
            factory: backend,
            on: reporting
        )
        kept.value = metrics
        return metrics
    }

    /// A timer that ticks each second. The handler of its first tick takes some time.
    private func tickEverySecond(atFirst duration: Duration = .zero) throws {
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { [virtual] log, tick in
            log.note(tick)
            if log.count == 1, duration > .zero { virtual.advance(by: duration) }
        }
    }

    /// The numbers of ticks, missed deadlines and slow handlers.
    private func counters() throws -> [Int64] {
        try ["ticks", "missed", "slow_handlers"]
            .map { try backend.expectCounter("timers.\($0)", [("service", "test")]).totalValue }
    }

    private func gauge(_ name: String, _ percentile: String) throws -> TestRecorder {
        try backend.expectGauge("timers.\(name)_seconds", [("service", "test"), ("percentile", percentile)])
    }

    private func percentile(_ name: String, _ percentile: String) throws -> Double? {
        try gauge(name, percentile).lastValue
    }

    @Test func eachReportIsAboutWhatCameSinceTheLastOne() throws {
        virtual.service.collectsStatistics = true
        try tickEverySecond(atFirst: .seconds(3))
        virtual.advance(by: .seconds(1))
        virtual.advance(by: .zero)
        #expect(virtual.service.slowHandlers.map(\.count) == [1])
        let metrics = try metrics()
        #expect(try counters() == [0, 0, 0], "what was before the object is not reported")
        virtual.jump(by: .seconds(5))
        metrics.report()
        #expect(try counters() == [1, 4, 0])
        #expect(try percentile("lateness", "100") == 4)
        virtual.advance(by: .seconds(5))
        metrics.report()
        #expect(try ["100", "50"].map { try percentile("lateness", $0) } == [0, 0])
        metrics.report()
        #expect(try counters() == [6, 4, 0])
    }

    @Test func aSlowCallIsReportedOnceWithItsTime() throws {
        let metrics = try metrics()
        try tickEverySecond(atFirst: .seconds(2))
        virtual.advance(by: .seconds(1))
        metrics.report()
        #expect(try percentile("handler", "99") == 2)
        metrics.report()
        #expect(try counters() == [1, 0, 1])
        #expect(try backend.expectGauge("timers.active", [("service", "test")]).lastValue == 2)
    }

    static let facts = ["name service factory": "its own", "every on": "true", "recordsNaN": "true"]

    @Test func theFormHeedsItsOptions() async throws {
        let (reporting, period) = (VirtualTime(), Duration.seconds(7))
        kept.value = try TimerMetrics(
            of: virtual.service,
            name: "cache",
            service: "its own",
            every: period,
            recordsNaN: true,
            factory: backend,
            on: reporting.service
        )
        let due = reporting.now.advanced(by: period)
        let isDue = reporting.nextDeadline == due && reporting.service.pendingWork(by: due) == .handler
        try tickEverySecond()
        virtual.advanceWithoutSettling(by: .seconds(3))
        await reporting.advance(by: period)
        let ticks = try backend.expectCounter("cache.ticks", [("service", "its own")])
        let dimensions = [("service", "its own"), ("percentile", "50")]
        let gauge = try backend.expectGauge("cache.handler_seconds", dimensions)
        #expect(ticks.totalValue == 3 && gauge.values.count == 2)
        let facts = [
            "name service factory": ticks.dimensions.map(\.1).joined(), "every on": "\(isDue)",
            "recordsNaN": "\(gauge.values.first?.isNaN ?? false)",
        ]
        #expect(facts == Self.facts)
        kept.value = nil
        await reporting.advance(by: period)
        #expect(reporting.pendingCount == 0, "the reports end with the object")
    }

    /// How many gauges the backend has. With percentiles they are seven, and one without.
    private var gauges: Int { backend.recorders.count }

    @Test func aGaugeWithoutAValueIsNotThere() throws {
        let metrics = try metrics()
        #expect(gauges == 1, "before the first report, too")
        try tickEverySecond()
        virtual.advance(by: .seconds(1))
        metrics.report()
        #expect(gauges == 7)
        metrics.report()
        #expect(gauges == 1)
        virtual.advance(by: .seconds(1))
        virtual.service.collectsStatistics = false
        metrics.report()
        #expect(gauges == 1, "nothing is known")
        #expect(try backend.expectGauge("timers.active", [("service", "test")]).lastValue == 2)
        virtual.service.collectsStatistics = true
        virtual.advance(by: .seconds(2))
        metrics.report()
        #expect(try percentile("lateness", "100") == 0)
        #expect(try gauges == 7 && counters()[0] == 3)
    }

    @Test func noGaugeKeepsItsValueIfTheReportsEnd() async throws {
        let reporting = VirtualTime()
        let metrics = try metrics(every: .seconds(10), on: reporting.service)
        try tickEverySecond()
        virtual.advanceWithoutSettling(by: .seconds(1))
        metrics.report()
        virtual.advanceWithoutSettling(by: .seconds(1))
        reporting.service.shutdown()
        #expect(await soon { gauges == 0 })
        #expect(try counters() == [2, 0, 0])
        metrics.report()
        #expect(gauges == 1, "a report that a program asks for shows what there is")
    }

    @Test func aReleasedReporterLeavesNoMetrics() throws {
        try metrics()
        #expect(backend.counters.count == 3)
        try tickEverySecond()
        virtual.advance(by: .seconds(1))
        kept.value?.report()
        virtual.advance(by: .seconds(2))
        let ticks = try backend.expectCounter("timers.ticks", [("service", "test")])
        let gauges = backend.recorders
        kept.value = nil
        #expect(backend.counters.isEmpty && backend.recorders.isEmpty)
        #expect(ticks.totalValue == 3, "a backend that sends each value at once misses none")
        #expect(gauges.count == 7 && gauges.allSatisfy { $0.values.allSatisfy(\.isFinite) })
    }

    @Test func ifItIsAskedForAGaugeWithoutAValueIsNotANumber() async throws {
        let reporting = VirtualTime()
        let metrics = try metrics(recordsNaN: true, on: reporting.service)
        let active = try backend.expectGauge("timers.active", [("service", "test")])
        func areNumbers() throws -> [Bool] {
            try ([active] + ["lateness", "handler"].map { try gauge($0, "99") }).map { $0.lastValue?.isNaN == false }
        }
        #expect(try areNumbers() == [true, false, false], "before the first report, too")
        try tickEverySecond()
        virtual.advanceWithoutSettling(by: .seconds(1))
        metrics.report()
        #expect(try areNumbers() == [true, true, true])
        metrics.report()
        #expect(try areNumbers() == [true, false, false])
        reporting.service.shutdown()
        #expect(await soon { active.lastValue?.isNaN == true })
        metrics.report()
        #expect(try areNumbers() == [true, false, false])
    }

    @Test func aReporterMayBeReleasedByItsBackend() throws {
        let (reporter, reacting) = (Box<TimerMetrics>(), ReactingBackend())
        reporter.value = try TimerMetrics(of: virtual.service, factory: reacting, on: virtual.service)
        reacting.onRecord.value = { reporter.value = nil }
        reporter.value?.report()
        #expect(reacting.live.value == 0, "it ends with the report")
    }

    @Test func nothingIsHeldWhileABackendIsCalled() throws {
        let (reporter, reacting) = (Box<TimerMetrics>(), ReactingBackend())
        reporter.value = try TimerMetrics(of: virtual.service, factory: reacting, on: virtual.service)
        reacting.onRecord.value = {
            reacting.onRecord.value = nil
            reporter.value?.report()
            let other = try? TimerMetrics(of: virtual.service, factory: reacting, on: virtual.service)
            #expect(other != nil)
        }
        reporter.value?.report()
        #expect(reacting.live.value == 4)
        reporter.value = nil
        #expect(reacting.live.value == 0)
    }

    @Test func ofTwoReportsAtOnceTheGaugesShowTheLaterOne() async throws {
        let (reacting, isInside, mayGoOn, isDone) = (ReactingBackend(), Gate(), Gate(), Gate())
        let metrics = try TimerMetrics(of: virtual.service, factory: reacting, on: virtual.service)
        reacting.onRecord.value = {
            reacting.onRecord.value = nil
            isInside.open()
            mayGoOn.pass()
        }
        try tickEverySecond()
        virtual.jump(by: .seconds(5))
        DispatchQueue.global()
            .async {
                metrics.report()
                isDone.open()
            }
        await isInside.pass()
        virtual.advanceWithoutSettling(by: .seconds(1))
        metrics.report()
        mayGoOn.open()
        await isDone.pass()
        let latenesses = reacting.recorded.all.filter { $0.gauge == "timers.lateness_seconds" }.map(\.value)
        #expect(latenesses.drop(while: \.isNaN) == [4, 4, 4, 0, 0, 0])
        withExtendedLifetime(metrics) {}
    }
}

/// A backend whose gauges call back, and which counts its metrics.
private final class ReactingBackend: MetricsFactory {
    final class Handle: CounterHandler, RecorderHandler {
        let backend: ReactingBackend
        let label: String

        init(_ label: String, of backend: ReactingBackend) { (self.backend, self.label) = (backend, label) }

        func increment(by: Int64) {}
        func reset() {}
        func record(_ value: Int64) { record(Double(value)) }
        func record(_ value: Double) {
            backend.recorded.append((label, value))
            backend.onRecord.value?()
        }
    }

    let onRecord = Box<@Sendable () -> Void>()
    let recorded = Notes<(gauge: String, value: Double)>()
    let live = Count()

    private func handle(_ label: String) -> Handle {
        live.add(1)
        return Handle(label, of: self)
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler { handle(label) }
    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        handle(label)
    }
    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        NOOPMetricsHandler.instance.makeTimer(label: label, dimensions: dimensions)
    }
    func destroyCounter(_ handler: any CounterHandler) { live.add(-1) }
    func destroyRecorder(_ handler: any RecorderHandler) { live.add(-1) }
    func destroyTimer(_ handler: any TimerHandler) {}
}
#endif
