import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// `fire()`: one extra tick through the normal path, which leaves the grid alone.
struct FireTests {
    private let virtual = VirtualTime()
    private let log = Log()

    @Test func theExtraTickHasTheInstantOfTheCallAndTheIndexOfTheNextDeadline() throws {
        let timer = try schedule(.every(.milliseconds(10)))
        virtual.advance(by: .milliseconds(24))
        let now = virtual.now
        #expect(timer.fire())
        #expect(log.count == 2, "nothing is delivered inside the call")
        #expect(timer.nextDeadline == now)
        virtual.jump(by: .milliseconds(1))
        let extra = try #require(log.ticks.last)
        #expect(extra.index == 2)
        #expect(extra.deadline == now)
        #expect(extra.missed == 0)
        #expect(extra.lateness == .milliseconds(1))
    }

    @Test func theGridDoesNotMove() throws {
        let start = virtual.now
        let timer = try schedule(.every(.milliseconds(10)))
        virtual.advance(by: .milliseconds(14))
        timer.fire()
        virtual.advance(by: .milliseconds(16))
        #expect(log.ticks.map { start.duration(to: $0.deadline) / .milliseconds(1) } == [10, 14, 20, 30])
        #expect(log.ticks.map(\.index) == [0, 1, 1, 2])
    }

    @Test func callsBeforeTheExtraTickBeginsCollapseIntoOne() throws {
        let timer = try schedule(.every(.milliseconds(10)))
        let first = virtual.now
        for _ in 0..<5 { #expect(timer.fire()) }
        virtual.jump(by: .milliseconds(2))
        #expect(log.ticks.map(\.deadline) == [first])
        timer.fire()
        virtual.advance(by: .zero)
        #expect(log.count == 2)
    }

    @Test func anExtraTickLeavesTheMissedCountOfLateTicksAlone() throws {
        let timer = try schedule(.every(.milliseconds(10)))
        virtual.advance(by: .milliseconds(5))
        timer.fire()
        virtual.jump(by: .milliseconds(30))
        #expect(log.ticks.map(\.index) == [0, 0])
        #expect(log.ticks.map(\.missed) == [0, 2])
        #expect(timer.nextDeadline == virtual.now.advanced(by: .milliseconds(5)))
    }

    @Test func aRescheduleWithdrawsTheExtraTick() throws {
        let timer = try schedule(.every(.milliseconds(10)))
        timer.fire()
        try timer.reschedule(.once(after: .milliseconds(30)))
        virtual.advance(by: .milliseconds(29))
        #expect(log.count == 0)
        virtual.advance(by: .milliseconds(1))
        #expect(log.ticks.map(\.lateness) == [.zero])
        #expect(log.ticks.map(\.index) == [0])
    }

    @Test func aPausedTimerGetsItsExtraTickOnResume() throws {
        let timer = try schedule(.every(.milliseconds(10)))
        timer.pause(keeping: .grid)
        let now = virtual.now
        #expect(timer.fire())
        virtual.advance(by: .milliseconds(1))
        #expect(timer.fire(), "it is the same extra tick")
        virtual.advance(by: .milliseconds(2))
        #expect(log.count == 0)
        timer.resume()
        virtual.advance(by: .zero)
        #expect(log.ticks.map(\.deadline) == [now])
        #expect(log.ticks.map(\.lateness) == [.milliseconds(3)])
    }

    @Test func anEndedTimerGetsNoExtraTick() throws {
        let timer = try schedule(.once(after: .milliseconds(10)))
        virtual.advance(by: .milliseconds(10))
        #expect(timer.fire() == false)
        virtual.advance(by: .milliseconds(10))
        #expect(log.count == 1)
    }

    @Test func anExtraTickDoesNotCompleteTheTimer() throws {
        let timer = try schedule(.once(after: .milliseconds(10)))
        timer.fire()
        virtual.advance(by: .milliseconds(5))
        #expect(log.ticks.map(\.index) == [0])
        #expect(timer.state == .scheduled)
        virtual.advance(by: .milliseconds(5))
        #expect(log.ticks.map(\.index) == [0, 0])
        #expect(timer.state == .ended(.completed))
    }

    @Test func aTimerFiredInItsHandlerTicksAgainAfterTheReturn() throws {
        let depths = Notes<Int>()
        let depth = Box<Int>()
        let timer = try PreciseTimer.schedule(.every(.milliseconds(10)), on: virtual.service) { timer, _ in
            depth.value = (depth.value ?? 0) + 1
            if depths.all.isEmpty { timer.fire() }
            depths.append(depth.value ?? 0)
            depth.value = (depth.value ?? 0) - 1
        }
        virtual.advance(by: .milliseconds(10))
        #expect(depths.all == [1, 1])
        #expect(timer.state == .scheduled)
    }

    @Test func anExtraTickDoesNotPostponeAFixedDelay() throws {
        let timer = try schedule(.fixedDelay(.milliseconds(10)))
        virtual.advance(by: .milliseconds(6))
        let next = timer.nextDeadline
        timer.fire()
        virtual.advance(by: .milliseconds(1))
        #expect(log.count == 1)
        #expect(timer.nextDeadline == next)
    }

    private func schedule(_ schedule: PreciseTimer.Schedule) throws -> PreciseTimer {
        try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { $0.note($1) }
    }

    @Test func aClockSetBackDoesNotLoseTheExtraTick() throws {
        let (wall, log) = (VirtualTime(clock: .wall), Log())
        let timer = try PreciseTimer.schedule(.every(.seconds(86_400)), on: wall.service, paused: true, target: log) {
            $0.note($1)
        }
        timer.fire()
        wall.inject(.stepClock(by: .seconds(-3_600)))
        wall.advance(by: .seconds(1))
        timer.resume()
        timer.fire()
        wall.advance(by: .zero)
        #expect(log.ticks.map(\.deadline) == [wall.now])
    }
}
