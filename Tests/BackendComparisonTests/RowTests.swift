#if Instrument && DEBUG
import PreciseTimer
import TestSupport
import Testing

@testable import BackendComparison

@Suite struct RowTests {
    @Test func theSecondOfTwoEqualRowsIsNumbered() throws {
        let rows = try NamedRow.parse("timerfd,dispatch,timerfd,timerfd,bare,task-sleep,bare")
        #expect(rows.map(\.name) == ["timerfd", "dispatch", "timerfd#2", "timerfd#3", "bare", "task-sleep", "bare#2"])
        #expect(Set(rows).count == 7)
        #expect(rows.map(\.kind) == [.backend, .backend, .backend, .backend, .bare, .peer, .bare])
    }

    @Test(arguments: ["", "timerfd,", "epoll", "timerfd#2", "timerfd, dispatch"])
    func otherRowsAreRefusedWithTheNamesOfAll(text: String) {
        let problem = #expect(throws: Failure.self) { try NamedRow.parse(text) }
        for row in NamedRow.all { #expect(problem?.description.contains(row.name) == true) }
    }

    @Test func theUsualRowsBeginWithTheBase() {
        let rows = NamedRow.usual(on: .suspending).map(\.name)
        #expect(rows.first == RowKey.base && rows.suffix(3) == ["task-sleep", "sleep-for", RowKey.bare])
        #expect(!NamedRow.usual(on: .wall).map(\.name).contains("runloop"))
        #expect(NamedRow(.backend(.runLoop)).obstacle(on: .wall)?.contains("wall clock") == true)
    }
}

/// Real turns of timers without the library.
@Suite(.works("tasks have a clock of their own"))
struct TaskSleepTests {
    @Test(arguments: [1, 5], [HandlerPlace.inline, .main])
    func everyDeadlineIsAccountedFor(timers: Int, place: HandlerPlace) throws {
        let row = try Short.measure([NamedRow(.taskSleep(.until))]) { ($0.timers, $0.delivery) = (timers, place) }[0]
        #expect(row.key == RowKey("task-sleep", .peer) && row.failure == nil)
        #expect(row.lateness.count >= 20 * UInt64(timers))
    }

    /// Peers are measured on the suspending clock.
    @Test func deadlinesOfATooShortPeriodAreAccountedFor() throws {
        let rows = try Short.measure([NamedRow(.taskSleep(.until))]) { request in
            (request.period, request.deadlines, request.clock) = (.microseconds(1), 200, .wall)
        }
        #expect(rows[0].lateness.count >= 200)
    }

    /// Each sleep begins when the one before it has ended.
    @Test func aLoopThatSleepsForItsPeriodIsLaterAndLater() throws {
        var latenesses: [Int64] = []
        // A turn ends with its time, and not with the fiftieth sleep. Other tests may have all threads of the tasks.
        for _ in 1...100 where latenesses.isEmpty {
            var measurement = Measurement(try Short.plan([NamedRow(.taskSleep(.forPeriod))]) { $0.deadlines = 50 })
            _ = try measurement.run(
                goesOn: { _ in true },
                turnEnded: { _, _, turn in latenesses = turn.recordings[0].samples.map(\.lateness) }
            )
            let row = measurement.rows[0]
            #expect(row.key == RowKey("sleep-for", .relative) && row.failure == nil && row.problem == nil)
        }
        #expect(!latenesses.isEmpty && latenesses == Set(latenesses).sorted() && latenesses[0] > 0)
    }
}

/// The loops that backends are compared with.
@Suite(.works("a bare loop sleeps in the kernel")) struct BareTests {
    @Test func afterAStallEveryTimerIsOnItsGridAgain() {
        let start = TimerInstant(nanoseconds: 1_000_000)
        let probes = [0, 300, 700].map { Probe(Deadlines(start: start + $0, period: 1000), goal: 20) }
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

    /// Each timer has a period of its own, and they end one after the other.
    @Test func aLoopWaitsForTheEarliestOfItsTimers() {
        let timers: [(probe: Probe, goal: UInt64)] = (0..<50)
            .map { (number: UInt64) in
                let start = TimerInstant(nanoseconds: 1_000_000 + number * 37 % 50)
                let goal = 5 + number % 7
                return (Probe(Deadlines(start: start, period: 1000 + number * 17 % 50), goal: goal), goal)
            }
        var waits: [TimerInstant] = []
        BareLoop.loop(
            timers.map(\.probe),
            StopFlag(),
            waitingBy: { waits.append($0) },
            readingBy: { _ in waits[waits.count - 1] }
        )
        let deadlines = timers.flatMap { timer in (0..<timer.goal).map { timer.probe.deadlines[$0] } }
        #expect(waits == Set(deadlines).sorted())
    }

    @Test(arguments: Bare.allCases, [TimerClock.suspending, .continuous, .wall])
    func manyTimersAreAccountedFor(_ bare: Bare, on clock: TimerClock) throws {
        let row = try Short.measure([NamedRow(.bare(bare))]) { ($0.timers, $0.clock) = (7, clock) }[0]
        #expect(row.lateness.count >= 140 && row.problem == nil && row.failure == nil)
    }

    @Test func aWaitForTheBeginningOfAClockEnds() throws {
        TimerClock.wall.sleep(until: 0)
        try BareTimer(.wall).wait(until: 0)
    }
}
#endif
