#if Logging
import InMemoryLogging
import Logging
import PreciseTimer
import PreciseTimerLogging
import PreciseTimerTestKit
import TestSupport
import Testing

/// What is written to a log about a service, and where.
@Suite(.waits("a log of a service whose threads the kernel names")) struct LoggingTests {
    let virtual = VirtualTime()
    let handler = InMemoryLogHandler()
    let target = Log()

    private func log(every period: Duration = .seconds(3_600), of service: TimerService? = nil) throws -> TimerLog {
        let logger = Logger(label: "test") { _ in handler }
        return try TimerLog(of: service ?? virtual.service, to: logger, every: period, on: virtual.service)
    }

    private func tickEverySecond(label: String? = nil, then: @escaping @Sendable () -> Void = {}) throws {
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, label: label, target: target) { _, _ in
            then()
        }
    }

    @Test func theStatisticsSinceTheLastLineAreLogged() throws {
        virtual.service.collectsStatistics = true
        try tickEverySecond()
        virtual.jump(by: .seconds(3))
        // The ticks before the object are not logged.
        let log = try log()
        virtual.advance(by: .seconds(10))
        log.report()
        virtual.jump(by: .seconds(4))
        for _ in 0..<2 { log.report() }
        let lines = handler.entries
        #expect(lines.map(\.level) == [.info, .info], "a report without a tick is not logged")
        let values = ["ticks", "missed", "lateness_max_ns"].map { key in lines.map { $0.metadata[key] } }
        #expect(values == [["10", "1"], ["0", "3"], ["0", "3000000000"]])
    }

    @Test func aLogIsDumpedWithItsService() async {
        await #expect(processExitsWith: .success) {
            let virtual = VirtualTime()
            let logger = Logger(label: "test") { _ in InMemoryLogHandler() }
            let log = try TimerLog(of: virtual.service, to: logger)
            #expect(reflect(log) == "▿ PreciseTimerLogging.TimerLog #0\n  - service: \(virtual.service) #1\n")
        }
    }

    @Test func aBudgetThatIsTooSmallIsLoggedOnce() throws {
        let service = try TimerService(.hybrid, spin: .init(budget: 0.001))
        defer { service.shutdown() }
        let log = try log(of: service)
        try PreciseTimer.schedule(.every(.microseconds(200)), on: service, target: target) { $0.note($1) }
        func warnings() -> [String] { handler.entries.filter { $0.level == .warning }.map { "\($0.message)" } }
        #expect(
            eventually {
                log.report()
                return service.spin?.obstacle != nil
                    || warnings().contains { $0.hasPrefix("spinning: a budget of 0.1 %") }
            }
        )
        let before = warnings().count { $0.hasPrefix("spinning") }
        log.report()
        #expect(warnings().count { $0.hasPrefix("spinning") } == before)
    }

    @Test func eachPlaceWithSlowHandlersIsLoggedOnce() throws {
        let log = try log()
        try tickEverySecond(label: "a\nb") { [virtual] in virtual.advance(by: .seconds(2)) }
        for _ in 0..<3 {
            virtual.advance(by: .seconds(5))
            log.report()
        }
        let warnings = handler.entries.filter { $0.level == .warning }
        #expect(warnings.count == 1)
        let warning = try #require(warnings.first)
        #expect("\(warning.message)".hasPrefix(#"slow handler: "a\nb" ("#), "a line of the log is one line")
        // A value is the user's, as it is.
        let values = ["label", "period_ns", "longest_ns"].map { warning.metadata[$0] }
        #expect(values == ["a\nb", "1000000000", "2000000000"])
    }

    @Test func linesComeByThemselvesAndEndWithTheObject() async throws {
        var log: TimerLog? = try log(every: .seconds(10))
        let due = virtual.now.advanced(by: .seconds(10))
        #expect(virtual.service.pendingWork(by: due) == .handler, "it is not written on the service's thread")
        try tickEverySecond()
        await virtual.advance(by: .seconds(10))
        #expect(log != nil && handler.entries.count == 1)
        log = nil
        await virtual.advance(by: .seconds(10))
        #expect([virtual.pendingCount, handler.entries.count] == [1, 1])
    }

    @Test func ticksAndErrorsHaveMetadata() {
        let deadline = TimerInstant(nanoseconds: 1_000)
        let delivered = deadline.advanced(by: .microseconds(3))
        let tick = PreciseTimer.Tick(index: 4, deadline: deadline, delivered: delivered, missed: 2)
        #expect(tick.metadata == ["index": "4", "lateness_ns": "3000", "missed": "2"])
        let error = TimerError(.systemRefused, "creating a timerfd", errno: 24)
        #expect(error.metadata == ["code": "refused by the system", "attempted": "creating a timerfd", "errno": "24"])
    }
}
#endif
