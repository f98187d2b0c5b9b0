import TestSupport
import Testing

/// Each argument that a form of an adapter may leave out is seen.
struct AdapterFormsTests {
    #if ServiceLifecycle && Logging
    @Test func eachOptionOfServicesIsSeen() throws {
        let services = PeriodicServiceTests.Form.allCases.map(\.row)
        let pause = FormRow("PeriodicService.pause(keeping:)", facts: PeriodicServiceTests.factsOfAPause)
        let rows = services + [pause] + LifecycleTests.rows
        #expect(try flaws(of: rows, in: "PreciseTimerLifecycle") == [])
    }
    #endif

    #if Logging
    @Test func eachOptionOfALogIsSeen() throws {
        let row = FormRow("TimerLog.init(of:to:service:at:every:on:)", facts: LoggingTests.facts)
        #expect(try flaws(of: [row], in: "PreciseTimerLogging") == [])
    }
    #endif

    #if Metrics
    @Test func eachOptionOfMetricsIsSeen() throws {
        let name = "TimerMetrics.init(of:name:service:every:recordsNaN:factory:on:)"
        #expect(try flaws(of: [FormRow(name, facts: MetricsTests.facts)], in: "PreciseTimerMetrics") == [])
    }
    #endif
}
