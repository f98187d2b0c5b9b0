import HostSystem
import PreciseTimer
import TestSupport
import Testing
import TimerProbe
import TimerResults

/// Real turns of timers without the library.
@Suite(.works("tasks have a clock of their own"))
struct TaskSleepTests {
    @Test(arguments: [1, 5], [HandlerPlace.inline, .main])
    func everyDeadlineIsAccountedFor(timers: Int, place: HandlerPlace) throws {
        let row = try Short.measure([Row(.taskSleep)]) { ($0.timers, $0.delivery) = (timers, place) }[0]
        #expect(row.key == RowKey("task-sleep", .peer))
        #expect(row.lateness.count >= 20 * UInt64(timers))
        #expect(row.failure == nil)
    }

    @Test func aStoppedTurnEndsItsTasks() throws { #expect(try Short.isStopped(Row(.taskSleep)) { _ in false }) }

    @Test func peersAreMeasuredOnTheSuspendingClock() throws {
        let row = try Short.measure([Row(.taskSleep)]) { $0.clock = .wall }[0]
        #expect(row.lateness.count >= 20)
    }

    @Test func deadlinesOfATooShortPeriodAreAccountedFor() throws {
        let row = try Short.measure([Row(.taskSleep)]) { ($0.period, $0.deadlines) = (.microseconds(1), 200) }[0]
        #expect(row.lateness.count >= 200)
    }
}

/// The loops that backends are compared with.
@Suite(.works("a bare loop sleeps in the kernel")) struct BareTests {
    @Test func afterAStallEveryTimerIsOnItsGridAgain() {
        let start = TimerInstant(nanoseconds: 1_000_000)
        let probes = [UInt64(0), 300, 700]
            .map { phase in
                Probe(Deadlines(start: start + phase, period: 1000), goal: 20)
            }
        var (now, waits) = (start, 0)
        BareLoop.loop(
            probes,
            StopFlag(),
            waitingBy: { deadline in
                waits += 1
                // The seventh wake-up is late by more than two periods, all others by 10 ns.
                now = max(now, deadline) + (waits == 7 ? 2_400 : 10)
            },
            readingBy: { _ in now }
        )
        let results = probes.map(\.result)
        #expect(results.allSatisfy { $0.problem == nil && $0.accounted == 20 })
        #expect(results.map(\.missed) == [2, 2, 1])
        // The stall made one tick of each timer late.
        #expect(results.map { $0.samples.filter { $0.lateness > 30 }.count } == [1, 1, 1])
    }

    @Test(arguments: Bare.allCases)
    func manyTimersAreAccountedFor(_ bare: Bare) throws {
        let row = try Short.measure([Row(.bare(bare))]) { $0.timers = 7 }[0]
        #expect(row.lateness.count >= 140)
        #expect(row.problem == nil && row.failure == nil)
    }
}

@Suite struct RowAndLoadTests {
    @Test(arguments: [
        ("idle", Load.idle), ("memory", .memory), ("cpu", .cpu(1)), ("cpu:2", .cpu(2)), ("cpu:256", .cpu(256)),
        ("handler:200us", .handler(.microseconds(200))), ("handler:1.5ms", .handler(.microseconds(1500))),
        ("handler:10s", .handler(.seconds(10))), ("churn:10000", .churn(10_000)),
        ("pending:100000", .pending(100_000)),
    ])
    func aLoadIsReadAndNamed(text: String, load: Load) throws {
        #expect(try Load.parse(text) == load)
        #expect(try Load.parse(load.name) == load)
    }

    @Test(arguments: [
        "", "idle:", "idle:1", "memory:1", "cpu:", "cpu:0", "cpu:-1", "cpu:1025", "cpu:1.5", "cpu:two", "CPU",
        "cpu:1:2",
        "handler", "handler:", "handler:0s", "handler:200", "handler:11s", "handler:-1us", "handler:99999999999999s",
        "churn", "churn:0", "churn:10000001", "pending", "pending:0", "pending:10000001", "pending:1e3", " idle",
        "disk",
        "cpu:99999999999999999999",
    ])
    func otherTextsAreRefusedInOneLine(text: String) {
        let problem = #expect(throws: Problem.self) { try Load.parse(text) }
        #expect(problem?.description.contains("\n") == false)
    }

    @Test func theSecondOfTwoEqualRowsIsNumbered() throws {
        let rows = try Row.parse("timerfd,dispatch,timerfd,timerfd,bare,task-sleep,bare")
        #expect(rows.map(\.name) == ["timerfd", "dispatch", "timerfd#2", "timerfd#3", "bare", "task-sleep", "bare#2"])
        #expect(Set(rows).count == 7)
        #expect(rows.map(\.kind) == [.backend, .backend, .backend, .backend, .bare, .peer, .bare])
    }

    @Test(arguments: ["", "timerfd,", "epoll", "timerfd#2", "timerfd, dispatch"])
    func otherRowsAreRefusedWithTheNamesOfAll(text: String) {
        let problem = #expect(throws: Problem.self) { try Row.parse(text) }
        for row in Row.all { #expect(problem?.description.contains(row.name) == true) }
    }

    @Test func theUsualRowsBeginWithTheBase() {
        let rows = Row.usual(on: .suspending).map(\.name)
        #expect(rows.first == RowKey.base && rows.suffix(2) == ["task-sleep", RowKey.bare])
        #expect(!Row.usual(on: .wall).map(\.name).contains("runloop"))
        #expect(Row(.backend(.runLoop)).obstacle(on: .wall)?.contains("wall clock") == true)
    }

    @Test func aRowUnderALoadIsNamedByBoth() {
        #expect("\(PlannedRow(row: Row(.backend(.timerFD)), load: .idle).key)" == "timerfd")
        #expect("\(PlannedRow(row: Row(.backend(.timerFD), number: 2), load: .cpu(2)).key)" == "timerfd#2@cpu:2")
    }
}
