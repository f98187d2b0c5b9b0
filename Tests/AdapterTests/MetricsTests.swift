#if Metrics
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

    private func metrics(every period: Duration = .seconds(3_600)) throws -> TimerMetrics {
        let (service, dimensions) = (virtual.service, [("service", "test")])
        return try TimerMetrics(of: service, dimensions: dimensions, every: period, factory: backend, on: service)
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

    private func quantile(_ name: String, _ quantile: String) throws -> Double? {
        let dimensions = [("service", "test"), ("quantile", quantile)]
        return try backend.expectGauge("timers.\(name)_seconds", dimensions).lastValue
    }

    @Test func metricsAreDumpedWithTheirService() async {
        await #expect(processExitsWith: .success) {
            let virtual = VirtualTime()
            let metrics = try TimerMetrics(of: virtual.service, factory: TestMetrics())
            #expect(reflect(metrics) == "▿ PreciseTimerMetrics.TimerMetrics #0\n  - service: \(virtual.service) #1\n")
        }
    }

    @Test func eachReportIsAboutWhatCameSinceTheLastOne() throws {
        let metrics = try metrics()
        try tickEverySecond()
        virtual.jump(by: .seconds(5))
        metrics.report()
        #expect(try counters() == [1, 4, 0])
        #expect(try quantile("lateness", "1.0") == 4)
        virtual.advance(by: .seconds(5))
        for _ in 0..<2 { metrics.report() }
        #expect(try counters() == [6, 4, 0])
        #expect(try ["1.0", "0.5"].map { try quantile("lateness", $0) } == [0, 0])
    }

    @Test func aStepOfTheClockIsInNoGaugeOfLateness() throws {
        let wall = VirtualTime(clock: .wall)
        let metrics = try TimerMetrics(
            of: wall.service,
            dimensions: [("service", "test")],
            factory: backend,
            on: virtual.service
        )
        try PreciseTimer.schedule(.every(.seconds(1)), on: wall.service, target: log) { $0.note($1) }
        wall.advance(by: .seconds(5))
        wall.inject(.stepClock(by: .seconds(3_600)))
        wall.advance(by: .seconds(5))
        metrics.report()
        #expect(try counters()[0] == 11 && quantile("lateness", "1.0") == 0)
    }

    @Test func whatWasBeforeTheObjectIsNotReported() throws {
        virtual.service.collectsStatistics = true
        try tickEverySecond(atFirst: .seconds(3))
        virtual.advance(by: .seconds(1))
        #expect(virtual.service.slowHandlers.map(\.count) == [1])
        virtual.advance(by: .zero)
        let metrics = try metrics()
        virtual.advance(by: .seconds(2))
        metrics.report()
        #expect(try counters() == [2, 0, 0])
    }

    @Test func aSlowCallIsReportedOnceWithItsTime() throws {
        let metrics = try metrics()
        try tickEverySecond(atFirst: .seconds(2))
        virtual.advance(by: .seconds(1))
        for _ in 0..<2 { metrics.report() }
        #expect(try counters() == [1, 0, 1])
        #expect(try quantile("handler", "0.99") == 2)
        #expect(try backend.expectGauge("timers.active", [("service", "test")]).lastValue == 2)
    }

    @Test func reportsComeByThemselvesAndEndWithTheObject() async throws {
        var metrics: TimerMetrics? = try metrics(every: .seconds(10))
        let due = virtual.now.advanced(by: .seconds(10))
        #expect(virtual.service.pendingWork(by: due) == .handler, "it is not made on the service's thread")
        try tickEverySecond()
        await virtual.advance(by: .seconds(10))
        #expect(try metrics != nil && counters()[0] >= 9)
        metrics = nil
        await virtual.advance(by: .seconds(10))
        #expect(virtual.pendingCount == 1)
    }

    @Test func aPeriodOfZeroIsRefused() {
        let error = #expect(throws: TimerError.self) { try metrics(every: .zero) }
        #expect(error?.code == .invalidSchedule)
    }
}
#endif
