#if Logging
import InMemoryLogging
import Logging
import PreciseTimer
import PreciseTimerLogging
import PreciseTimerTestKit
import TestSupport
import Testing

/// What is written to a log about a service, and where.
@Suite(.waits("a service spins")) struct LoggingTests {
    let virtual = VirtualTime()
    let handler = InMemoryLogHandler()
    let target = Log()

    private let kept = Box<TimerLog>()
    private var logger: Logger { Logger(label: "test") { _ in handler } }

    /// A log that lives until the test removes it.
    @discardableResult
    private func log(
        every period: Duration = .seconds(3_600),
        of service: TimerService? = nil,
        on reporting: TimerService? = nil
    ) throws -> TimerLog {
        let (service, reporting) = (service ?? virtual.service, reporting ?? virtual.service)
        let log = try TimerLog(of: service, to: logger, at: .notice, every: period, on: reporting)
        kept.value = log
        return log
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
        #expect(lines.map(\.level) == [.notice, .notice, .notice])
        let values = ["ticks", "missed", "lateness_max_ns"].map { key in lines.map { $0.metadata[key] } }
        #expect(values == [["10", "1", "0"], ["0", "3", "0"], ["0", "3000000000", nil]])
    }

    private var messages: [String] { handler.entries.map { "\($0.message)" } }

    @Test func ofSeveralReportsWithoutATickTheFirstIsLogged() throws {
        let log = try log()
        func reportThrice() { for _ in 0..<3 { log.report() } }
        reportThrice()
        #expect(messages == ["timers: 0 ticks, 0 missed; 1 active"])
        try tickEverySecond()
        virtual.advance(by: .seconds(1))
        reportThrice()
        #expect(messages.dropFirst().map { $0.prefix(15) } == ["timers: 1 tick,", "timers: 0 ticks"])
        virtual.advance(by: .seconds(1))
        virtual.service.collectsStatistics = false
        log.report()
        #expect(messages.count == 3, "the time without a line goes on")
        virtual.service.collectsStatistics = true
        virtual.advance(by: .seconds(1))
        log.report()
        virtual.service.collectsStatistics = false
        reportThrice()
        #expect(messages.dropFirst(4) == ["timers: the service collects no statistics; 2 active"])
    }

    @Test func aReleasedLogLosesNothing() throws {
        try log()
        try tickEverySecond { [virtual] in virtual.advance(by: .seconds(2)) }
        virtual.advance(by: .seconds(1))
        #expect(handler.entries.isEmpty)
        kept.value = nil
        #expect(handler.entries.map(\.level) == [.notice, .warning])
        #expect(handler.entries.map { $0.metadata["ticks"] } == ["1", nil])
        try log()
        kept.value = nil
        #expect(handler.entries.count == 3, "nothing is said of no tick at the end, and a new log knows no place")
    }

    @Test func aRefusedLogSaysNothing() throws {
        virtual.service.collectsStatistics = true
        try tickEverySecond()
        virtual.advance(by: .seconds(1))
        #expect(throws: TimerError.self) { try log(every: .zero) }
        #expect(handler.entries.isEmpty)
    }

    @Test(arguments: [true, false]) func theEndOfTheLinesIsLogged(fails: Bool) async throws {
        let alarm = RefusingAlarm()
        let reporting = try TimerService(alarm: alarm)
        try log(on: reporting)
        if fails { alarm.fail() } else { reporting.shutdown() }
        #expect(await soon { !handler.entries.isEmpty })
        let entry = try #require(handler.entries.last)
        #expect("\(entry.message)".hasPrefix("timers: no more lines: ") && entry.level == (fails ? .warning : .notice))
    }

    /// Two logs of one service share its name, until the last of them has ended.
    @Test(arguments: [[0, 1], [1, 0]]) func aSharedNameIsFreeWhenTheLastOfItsLogsHasEnded(order: [Int]) throws {
        let logger = Logger(label: "shared \(order)") { [handler] _ in handler }
        func log(_ service: TimerService) throws -> TimerLog {
            try TimerLog(of: service, to: logger, on: virtual.service)
        }
        func nameOfAnother() throws -> Logger.MetadataValue? {
            let log = try log(VirtualTime().service)
            log.report()
            return handler.entries.last?.metadata["service"]
        }
        let shared = VirtualTime().service
        var logs: [TimerLog?] = [try log(shared), try log(shared)]
        var names = [try nameOfAnother()]
        for place in order {
            logs[place] = nil
            names.append(try nameOfAnother())
        }
        #expect(names == ["VirtualAlarm-2", "VirtualAlarm-2", "VirtualAlarm"])
    }

    @Test func theFormHeedsItsOptions() async throws {
        var logger = logger
        logger.logLevel = .trace
        logger[metadataKey: "service"] = "a"
        let (reporting, period) = (VirtualTime(), Duration.seconds(7))
        let (service, due) = (virtual.service, reporting.now.advanced(by: period))
        kept.value = try TimerLog(
            of: service,
            to: logger,
            service: "b",
            at: .debug,
            every: period,
            on: reporting.service,
            file: "A",
            line: 7
        )
        #expect(reporting.service.activeTimers.map { "\($0.file):\($0.line)" } == ["A:7"])
        #expect(reporting.service.pendingWork(by: due) == .handler, "it is not written on the service's thread")
        try tickEverySecond()
        virtual.advanceWithoutSettling(by: .seconds(1))
        // A line with ticks, and one without.
        for _ in 1...2 { await reporting.advance(by: period) }
        let (lines, entry) = (handler.entries, try #require(handler.entries.first))
        #expect(entry.metadata["service"] == "a", "a logger's own service stays beside that of the timers")
        let facts = [
            "service": entry.metadata["timer_service"].map { "\($0)" } ?? "",
            "at": lines.map { "\($0.level)" }.joined(separator: " "), "every on": "\(lines.count) lines",
        ]
        #expect(facts == ["service": "b", "at": "debug debug", "every on": "2 lines"])
        let row = FormRow("TimerLog.init(of:to:service:at:every:on:)", facts: facts)
        #expect(try flaws(of: [row], in: "PreciseTimerLogging") == [])
        kept.value = nil
        await reporting.advance(by: period)
        #expect(reporting.pendingCount == 0, "the lines end with the object")
    }

    @Test func aBudgetThatIsTooSmallIsLoggedOnce() throws {
        let service = try TimerService(.hybrid, spin: .init(budget: 0.001))
        defer { service.shutdown() }
        let log = try log(of: service)
        try PreciseTimer.schedule(.every(.microseconds(200)), on: service, target: target) { $0.note($1) }
        func warnings() -> [String] { messages.filter { $0.hasPrefix("spinning") } }
        #expect(
            eventually {
                log.report()
                return service.spin?.obstacle != nil
                    || warnings().contains { $0.hasPrefix("spinning: a budget of 0.1 %") }
            }
        )
        let before = warnings().count
        log.report()
        #expect(warnings().count == before)
        #expect(handler.entries.filter { "\($0.message)".hasPrefix("spinning") }.allSatisfy { $0.level == .warning })
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
