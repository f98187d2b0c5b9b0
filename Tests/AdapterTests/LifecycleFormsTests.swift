#if ServiceLifecycle && Logging
import TestSupport
import Testing

/// Each argument that a form of the adapter to swift-service-lifecycle may leave out is seen.
struct LifecycleFormsTests {
    @Test func eachOptionIsSeenInATable() throws {
        let services = PeriodicServiceTests.Form.allCases.map(\.row)
        let pause = FormRow("PeriodicService.pause(keeping:)", facts: PeriodicServiceTests.factsOfAPause)
        let rows = services + [pause] + LifecycleTests.rows
        #expect(try flaws(of: rows, in: "PreciseTimerLifecycle") == [])
    }
}
#endif
