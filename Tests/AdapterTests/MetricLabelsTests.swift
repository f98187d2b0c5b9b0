#if Metrics
import MetricsTestKit
import PreciseTimer
import PreciseTimerMetrics
import PreciseTimerTestKit
import TestSupport
import Testing

/// The label `service` of metrics: no two living reporters have the same one.
@Suite struct MetricLabelsTests {
    let virtual = VirtualTime()
    let backend = TestMetrics()

    private let kept = Box<[TimerMetrics]>()

    /// A reporter that lives until the test removes it.
    private func report(
        of service: TimerService? = nil,
        name: String = "timers",
        service label: String? = nil,
        factory: TestMetrics? = nil,
        line: UInt = #line
    ) throws(TimerError) {
        let metrics = try TimerMetrics(
            of: service ?? virtual.service,
            name: name,
            service: label,
            every: .seconds(3_600),
            factory: factory ?? backend,
            on: virtual.service,
            file: "A",
            line: line
        )
        kept.value = (kept.value ?? []) + [metrics]
    }

    /// The error of a reporter that is refused.
    private func refusal(_ label: String?, line: UInt = #line) -> TimerError? {
        #expect(throws: TimerError.self) { try report(service: label, line: line) }
    }

    /// The values of `service` of the living counters of one name.
    private func services(of metric: String = "timers.ticks", in factory: TestMetrics? = nil) -> [String] {
        (factory ?? backend).counters(label: metric).flatMap { $0.dimensions.map { "\($0.1)" } }.sorted()
    }

    @Test func eachServiceHasANameThatIsTheSameInEachRun() throws {
        let own = [try TimerService(.timerFD), try TimerService(.dispatch), try TimerService(.timerFD, clock: .wall)]
        for service in [.default, .wall] + own + [virtual.service] { try report(of: service) }
        let names = ["VirtualAlarm", "dispatch", "shared-timerfd", "shared-timerfd-wall", "timerfd", "timerfd-wall"]
        #expect(services() == names)
    }

    @Test(arguments: 0...2) func reportersOfOneKindAreNumberedAndANumberIsFreeAgain(ended: Int) throws {
        let names = ["VirtualAlarm", "VirtualAlarm-2", "VirtualAlarm-3"]
        for _ in 1...3 { try report() }
        #expect(services() == names)
        #expect(backend.recorders.count == 3, "each has gauges of its own")
        kept.value?.remove(at: ended)
        #expect(services() == names.filter { $0 != names[ended] })
        try report()
        #expect(services() == names)
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

    @Test func aLabelOfALivingReporterIsRefusedWithTheNamesOfBoth() throws {
        try report(of: .wall, service: "cache", line: 1)
        let error = refusal("cache", line: 2)
        let reason = "timers has that of shared-timerfd-wall at A:1"
        #expect(error?.code == .invalidOption)
        #expect(error?.attempted == "reporting VirtualAlarm at A:2 with the label \"cache\" (\(reason))")
        #expect(services() == ["cache"])
        kept.value = nil
        try report(service: "cache")
        #expect(services() == ["cache"], "it is free again")
    }

    @Test func aLabelThatIsMadeIsNoneThatWasGiven() throws {
        try report(service: "VirtualAlarm")
        try report()
        #expect(services() == ["VirtualAlarm", "VirtualAlarm-2"])
        #expect(refusal("VirtualAlarm-2")?.code == .invalidOption)
    }

    @Test func anEmptyLabelIsRefused() {
        let error = refusal("", line: 1)
        let text = "reporting VirtualAlarm at A:1 with the label \"\" (it must tell this service from others)"
        #expect(error?.code == .invalidOption && error?.attempted == text)
        #expect(backend.counters.isEmpty)
    }

    @Test func aRefusedReporterKeepsNoLabel() throws {
        let error = #expect(throws: TimerError.self) {
            try TimerMetrics(of: virtual.service, every: .zero, factory: backend)
        }
        #expect(error?.code == .invalidSchedule && backend.counters.isEmpty && backend.recorders.isEmpty)
        try report()
        #expect(services() == ["VirtualAlarm"])
    }
}
#endif
