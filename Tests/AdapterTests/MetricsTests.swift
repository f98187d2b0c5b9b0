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

    private let kept = Box<[TimerMetrics]>()

    /// A reporter that lives until the test removes it.
    @discardableResult
    private func metrics(
        of service: TimerService? = nil,
        name: String = "timers",
        service label: String? = nil,
        every period: Duration = .seconds(3_600),
        recordsNaN: Bool = false,
        factory: TestMetrics? = nil,
        on reporting: TimerService? = nil,
        line: UInt = #line
    ) throws(TimerError) -> TimerMetrics {
        let metrics = try TimerMetrics(
            of: service ?? virtual.service,
            name: name,
            service: label,
            every: period,
            recordsNaN: recordsNaN,
            factory: factory ?? backend,
            on: reporting ?? virtual.service,
            file: "A",
            line: line
        )
        kept.value = (kept.value ?? []) + [metrics]
        return metrics
    }

    private static let name = "VirtualAlarm"
    private static let dimensions = [("service", name)]

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
            .map { try backend.expectCounter("timers.\($0)", Self.dimensions).totalValue }
    }

    private func gauge(_ name: String, _ percentile: String) throws -> TestRecorder {
        try backend.expectGauge("timers.\(name)_seconds", Self.dimensions + [("percentile", percentile)])
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

    @Test func theFormHeedsItsOptions() async throws {
        let (reporting, period) = (VirtualTime(), Duration.seconds(7))
        let place = reporting.service
        try metrics(name: "cache", service: "its own", every: period, recordsNaN: true, on: place, line: 7)
        #expect(place.activeTimers.map { "\($0.file):\($0.line)" } == ["A:7"])
        let due = reporting.now.advanced(by: period)
        let isDue = reporting.nextDeadline == due && place.pendingWork(by: due) == .handler
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
        #expect(facts == ["name service factory": "its own", "every on": "true", "recordsNaN": "true"])
        let form = "TimerMetrics.init(of:name:service:every:recordsNaN:factory:on:)"
        #expect(try flaws(of: [FormRow(form, facts: facts)], in: "PreciseTimerMetrics") == [])
        kept.value = nil
        await reporting.advance(by: period)
        #expect(reporting.pendingCount == 0, "the reports end with the object")
    }

    /// How many gauges show a number. With percentiles they are seven, and one without.
    private var gauges: Int { backend.recorders.count { $0.lastValue?.isNaN == false } }

    /// It is not there or, if it is asked for, not a number.
    @Test(arguments: [false, true]) func aGaugeWithoutAValueShowsNone(recordsNaN: Bool) throws {
        let metrics = try metrics(recordsNaN: recordsNaN)
        #expect([gauges, backend.recorders.count] == [1, recordsNaN ? 7 : 1], "before the first report, too")
        try tickEverySecond(atFirst: .seconds(2))
        virtual.advance(by: .seconds(1))
        metrics.report()
        #expect(try gauges == 7 && percentile("handler", "99") == 2)
        metrics.report()
        #expect([gauges, backend.recorders.count] == [1, recordsNaN ? 7 : 1])
        #expect(try counters() == [1, 0, 1], "a slow call is reported once")
        virtual.advance(by: .seconds(1))
        virtual.service.collectsStatistics = false
        metrics.report()
        #expect(gauges == 1, "nothing is known")
        #expect(try backend.expectGauge("timers.active", Self.dimensions).lastValue == 2)
        virtual.service.collectsStatistics = true
        virtual.advance(by: .seconds(2))
        metrics.report()
        #expect(try percentile("lateness", "100") == 0)
        #expect(try gauges == 7 && counters()[0] == 3)
    }

    @Test(arguments: [false, true])
    func noGaugeKeepsItsValueIfTheReportsEnd(recordsNaN: Bool) async throws {
        let reporting = VirtualTime()
        let metrics = try metrics(every: .seconds(10), recordsNaN: recordsNaN, on: reporting.service)
        try tickEverySecond()
        virtual.advanceWithoutSettling(by: .seconds(1))
        metrics.report()
        virtual.advanceWithoutSettling(by: .seconds(1))
        reporting.service.shutdown()
        #expect(await soon { gauges == 0 && backend.recorders.count == (recordsNaN ? 7 : 0) })
        #expect(try counters() == [2, 0, 0])
        metrics.report()
        #expect(gauges == 1, "a report that a program asks for shows what there is")
    }

    @Test func aReleasedReporterLeavesNoMetrics() throws {
        try metrics()
        #expect(backend.counters.count == 3)
        try tickEverySecond()
        virtual.advance(by: .seconds(1))
        for metrics in kept.value ?? [] { metrics.report() }
        virtual.advance(by: .seconds(2))
        let ticks = try backend.expectCounter("timers.ticks", Self.dimensions)
        let gauges = backend.recorders
        kept.value = nil
        #expect(backend.counters.isEmpty && backend.recorders.isEmpty)
        #expect(ticks.totalValue == 3, "a backend that sends each value at once misses none")
        #expect(gauges.count == 7 && gauges.allSatisfy { $0.values.allSatisfy(\.isFinite) })
    }

    @Test func aBackendMayUseReportersAndReleaseThem() throws {
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
        reacting.onRecord.value = { reporter.value = nil }
        reporter.value?.report()
        #expect(reacting.live.value == 0, "it ends with the report")
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

    // MARK: The label `service`: no two living reporters have the same one

    /// The error of a reporter that is refused.
    private func refusal(_ label: String?, line: UInt = #line) -> TimerError? {
        #expect(throws: TimerError.self) { try metrics(service: label, line: line) }
    }

    /// The values of `service` of the living counters of one name.
    private func services(of metric: String = "timers.ticks", in factory: TestMetrics? = nil) -> [String] {
        (factory ?? backend).counters(label: metric).flatMap { $0.dimensions.map { "\($0.1)" } }.sorted()
    }

    @Test func eachServiceHasANameThatIsTheSameInEachRun() throws {
        let own = [try TimerService(.timerFD), try TimerService(.dispatch), try TimerService(.timerFD, clock: .wall)]
        for service in [.default, .wall] + own + [virtual.service] { try metrics(of: service) }
        let names = ["VirtualAlarm", "dispatch", "shared-timerfd", "shared-timerfd-wall", "timerfd", "timerfd-wall"]
        #expect(services() == names)
    }

    @Test(arguments: 0...2) func reportersOfOneKindAreNumberedAndANumberIsFreeAgain(ended: Int) throws {
        let names = [Self.name, "VirtualAlarm-2", "VirtualAlarm-3"]
        for _ in 1...3 { try metrics() }
        #expect(services() == names)
        #expect(backend.recorders.count == 3, "each has gauges of its own")
        kept.value?.remove(at: ended)
        #expect(services() == names.filter { $0 != names[ended] })
        try metrics()
        #expect(services() == names)
    }

    @Test func metricsOfAnotherNameOrFactoryHaveNamesOfTheirOwn() throws {
        let other = TestMetrics()
        try metrics()
        try metrics(name: "cache")
        try metrics(factory: other)
        #expect(services() == ["VirtualAlarm"])
        #expect(services(of: "cache.ticks") == ["VirtualAlarm"])
        #expect(services(in: other) == ["VirtualAlarm"])
    }

    @Test func aLabelOfALivingReporterIsRefusedWithTheNamesOfBoth() throws {
        try metrics(of: .wall, service: "cache", line: 1)
        let error = refusal("cache", line: 2)
        let reason = "timers has that of shared-timerfd-wall at A:1"
        #expect(error?.code == .invalidOption)
        #expect(error?.attempted == "reporting VirtualAlarm at A:2 with the label \"cache\" (\(reason))")
        #expect(services() == ["cache"])
        kept.value = nil
        try metrics(service: "cache")
        #expect(services() == ["cache"], "it is free again")
    }

    @Test func aLabelThatIsMadeIsNoneThatWasGivenAndNoLabelIsEmpty() throws {
        try metrics(service: Self.name)
        try metrics()
        #expect(services() == ["VirtualAlarm", "VirtualAlarm-2"])
        #expect(["VirtualAlarm-2", ""].map { refusal($0)?.code } == [.invalidOption, .invalidOption])
        #expect(refusal("")?.attempted.hasSuffix("(it must tell this service from others)") == true)
        #expect(services() == ["VirtualAlarm", "VirtualAlarm-2"])
    }

    @Test func aRefusedReporterKeepsNoLabel() throws {
        let error = #expect(throws: TimerError.self) {
            try TimerMetrics(of: virtual.service, every: .zero, factory: backend)
        }
        #expect(error?.code == .invalidSchedule && backend.counters.isEmpty && backend.recorders.isEmpty)
        try metrics()
        #expect(services() == ["VirtualAlarm"])
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
