import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// A handler that moves time keeps no deadline from the call that it came in.
struct MovedTimeTests {
    private let virtual: VirtualTime
    private let log: TickLog

    init() {
        virtual = VirtualTime()
        log = TickLog(virtual)
    }

    /// The calls that move time: a test's own, each with one in a handler.
    private static let ways = ["jump", "advance", "await advance"]

    private func move(_ way: String, by duration: Duration) async {
        switch way {
        case "jump": virtual.jump(by: duration)
        case "advance": virtual.advanceWithoutSettling(by: duration)
        default: await virtual.advance(by: duration)
        }
    }

    /// The inner call takes ten seconds.
    private func moveInside(_ way: String) {
        if way == "jump" { virtual.jump(by: .seconds(10)) } else { virtual.advanceWithoutSettling(by: .seconds(10)) }
    }

    @Test(arguments: ways, ["jump", "advance"])
    func aDeadlineBeforeTheEndComesInTheSameCall(way: String, inner: String) async throws {
        let (tests, log) = (self, log)
        try PreciseTimer.schedule(.once(after: .seconds(1)), on: virtual.service, target: log) { _, tick in
            tests.moveInside(inner)
            // It has passed, and waits for the next round.
            let late = PreciseTimer.Schedule.once(at: tick.deadline.advanced(by: .seconds(1)))
            _ = try? PreciseTimer.schedule(late, on: tests.virtual.service, target: log) { $0.note($1) }
        }
        try PreciseTimer.schedule(.once(after: .seconds(2)), on: virtual.service, target: log) { $0.note($1) }
        await move(way, by: .seconds(3))
        #expect(log.deadlines == [.seconds(2), .seconds(2)] && virtual.pendingCount == 0, "\(virtual)")
    }

    @Test(arguments: ways) func lateTicksThatComeOneByOneComeInTheSameCall(way: String) async throws {
        let (tests, log) = (self, log)
        try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            missedTicks: .catchUp(limit: 20),
            target: log
        ) { log, tick in
            if tick.index == 0 { tests.moveInside("jump") }
            log.note(tick)
        }
        await move(way, by: .seconds(3))
        #expect(log.deadlines.prefix(3) == [.seconds(1), .seconds(2), .seconds(3)], "\(virtual)")
    }

    /// Otherwise a handler that takes longer than the period would hold the call for ever.
    @Test(arguments: ways) func aDeadlineAfterTheEndWaitsForTheNextCall(way: String) async throws {
        let tests = self
        try PreciseTimer.schedule(.every(.seconds(3)), on: virtual.service, target: log) { log, tick in
            log.note(tick)
            tests.moveInside("advance")
        }
        await move(way, by: .seconds(3))
        #expect(log.deadlines == [.seconds(3)])
        await move(way, by: .zero)
        #expect(log.deadlines == [.seconds(3), .seconds(6)] && log.missed == [0, 2])
    }

    /// The stall makes the firing late, and the handler moves time past the end.
    @Test func aFaultBeforeTheEndHappensInTheSameCall() throws {
        let tests = self
        for seconds in [1, 3] {
            try PreciseTimer.schedule(.once(after: .seconds(seconds)), on: virtual.service, target: log) { log, tick in
                log.note(tick)
                if tick.lateness == .zero { tests.moveInside("jump") }
            }
        }
        virtual.inject(.stall(.seconds(5)), after: .seconds(2))
        virtual.advance(by: .seconds(4))
        #expect(log.deadlines == [.seconds(1), .seconds(3)])
        #expect(log.ticks.map(\.lateness) == [.zero, .seconds(13)])
    }
}
