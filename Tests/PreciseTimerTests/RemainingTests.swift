import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Pauses that keep the remaining time, and schedules that start anew.
struct RemainingTests {
    private let virtual = VirtualTime()
    private let log = Log()

    private func schedule(_ schedule: PreciseTimer.Schedule) throws -> PreciseTimer {
        try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { $0.note($1) }
    }

    /// The deadlines of the ticks, since the start.
    private var deadlines: [Duration] {
        log.ticks.map { TimerInstant(nanoseconds: 1_000_000_000).duration(to: $0.deadline) }
    }

    @Test func aPausedTimerKeepsItsRemainingTime() throws {
        let timer = try schedule(.once(after: .milliseconds(500)))
        virtual.advance(by: .milliseconds(300))
        #expect(timer.remaining == .milliseconds(200))
        #expect(timer.pause())
        virtual.advance(by: .seconds(1))
        #expect(timer.remaining == .milliseconds(200))
        #expect(timer.nextDeadline == nil)
        #expect(timer.resume())
        #expect(log.count == 0)
        virtual.advance(by: .milliseconds(199))
        #expect(log.count == 0)
        virtual.advance(by: .milliseconds(1))
        #expect(deadlines == [.milliseconds(1_500)])
    }

    @Test func aPauseThatKeepsTheGridIsLate() throws {
        let timer = try schedule(.once(after: .milliseconds(500)))
        timer.pause(keeping: .grid)
        virtual.advance(by: .seconds(1))
        #expect(timer.remaining == .zero)
        timer.resume()
        virtual.advance(by: .zero)
        #expect(deadlines == [.milliseconds(500)])
    }

    @Test func theWholeGridMovesByThePause() throws {
        let timer = try schedule(.every(.seconds(1)))
        virtual.advance(by: .milliseconds(2_400))
        timer.pause()
        virtual.advance(by: .milliseconds(10_000))
        timer.resume()
        virtual.advance(by: .milliseconds(1_600))
        #expect(deadlines == [.seconds(1), .seconds(2), .seconds(13), .seconds(14)])
        #expect(log.ticks.map(\.index) == [0, 1, 2, 3])
        #expect(log.ticks.map(\.missed) == [0, 0, 0, 0])
    }

    @Test func anExtraTickComesWhenTheTimeGoesOn() throws {
        let timer = try schedule(.every(.seconds(1)))
        virtual.advance(by: .milliseconds(300))
        timer.pause()
        virtual.advance(by: .milliseconds(500))
        #expect(timer.fire())
        virtual.advance(by: .seconds(10))
        #expect(timer.remaining == .milliseconds(700) && timer.nextDeadline == nil)
        #expect(log.count == 0)
        timer.resume()
        virtual.advance(by: .milliseconds(700))
        #expect(log.ticks.map(\.isExtra) == [true, false])
        #expect(deadlines == [.milliseconds(800), .milliseconds(11_500)])
    }

    /// The first delay is that of the beginning.
    @Test func aPeriodWithAnotherFirstDelayStartsAnewWithThePeriod() throws {
        let timer = try schedule(.every(.seconds(10), after: .seconds(1)))
        virtual.advance(by: .seconds(3))
        #expect(timer.restart())
        #expect(timer.remaining == .seconds(10))
        virtual.advance(by: .seconds(20))
        #expect(deadlines == [.seconds(1), .seconds(13), .seconds(23)])
    }

    @Test func aRateMovesExactly() throws {
        let timer = try schedule(.rate(3, per: .seconds(1)))
        virtual.advance(by: .milliseconds(500))
        timer.pause()
        virtual.advance(by: .seconds(7))
        timer.resume()
        virtual.advance(by: .milliseconds(500))
        let step = Duration.nanoseconds(333_333_334)
        #expect(deadlines == [step, .seconds(7) + .nanoseconds(666_666_667), .seconds(8)])
    }

    /// The next delay begins when the handler returns, during the pause.
    @Test func aPauseInTheHandlerOfAFixedDelayKeepsTheWholeDelay() throws {
        let box = Box<PreciseTimer>()
        box.value = try PreciseTimer.schedule(.fixedDelay(.seconds(1)), on: virtual.service, target: log) {
            [virtual] log, tick in
            log.note(tick)
            if tick.index > 0 { return }
            box.value?.pause()
            virtual.advance(by: .milliseconds(300))
        }
        virtual.advance(by: .seconds(6))
        #expect(log.count == 1)
        #expect(box.value?.remaining == .seconds(1))
        box.value?.resume()
        virtual.advance(by: .seconds(1))
        #expect(deadlines == [.seconds(1), .seconds(7)])
        box.value = nil
    }

    @Test func aScheduleGivenDuringAPauseBeginsWithTheResume() throws {
        let timer = try schedule(.every(.seconds(1)))
        timer.pause()
        virtual.advance(by: .seconds(5))
        try timer.reschedule(.once(after: .seconds(3)))
        virtual.advance(by: .seconds(5))
        #expect(timer.remaining == .seconds(3))
        timer.resume()
        virtual.advance(by: .seconds(3))
        #expect(deadlines == [.seconds(13)])
    }

    @Test func aRestartDuringAPauseBeginsAnewWithTheResume() throws {
        let timer = try schedule(.every(.seconds(1)))
        virtual.advance(by: .milliseconds(400))
        timer.pause()
        virtual.advance(by: .seconds(5))
        #expect(timer.restart())
        #expect(timer.remaining == .seconds(1))
        virtual.advance(by: .seconds(5))
        #expect(timer.remaining == .seconds(1))
        timer.resume()
        virtual.advance(by: .seconds(1))
        #expect(deadlines == [.milliseconds(11_400)])
    }

    @Test func timeGoesOnAfterAPause() throws {
        let timer = try schedule(.every(.seconds(1)))
        for round in 1...2 {
            virtual.advance(by: .milliseconds(200))
            timer.pause()
            virtual.advance(by: .seconds(5))
            timer.resume()
            #expect(timer.remaining == .milliseconds(1_000 - 200 * round))
            #expect(timer.nextDeadline == virtual.now.advanced(by: .milliseconds(1_000 - 200 * round)))
        }
        virtual.advance(by: .milliseconds(100))
        #expect(timer.remaining == .milliseconds(500))
    }

    @Test func aPausedTimerKeepsTheKindOfItsPause() throws {
        let timer = try schedule(.every(.seconds(1)))
        #expect(timer.pause(keeping: .grid) && !timer.pause())
        virtual.advance(by: .milliseconds(1_500))
        timer.resume()
        virtual.advance(by: .zero)
        #expect(deadlines == [.seconds(1)], "it is late")
    }

    @Test func theEndInTimeMovesByThePause() throws {
        let timer = try schedule(.every(.seconds(1), for: .seconds(3)))
        virtual.advance(by: .milliseconds(1_500))
        timer.pause()
        virtual.advance(by: .seconds(60))
        timer.resume()
        virtual.advance(by: .seconds(60))
        #expect(deadlines == [.seconds(1), .seconds(62), .seconds(63)])
        #expect(timer.state == .ended(.completed))
    }

    @Test func restartPostponesByAWholeDelay() throws {
        let timer = try schedule(.once(after: .milliseconds(500)))
        virtual.advance(by: .milliseconds(400))
        #expect(timer.restart())
        virtual.advance(by: .milliseconds(400))
        #expect(log.count == 0)
        virtual.advance(by: .milliseconds(100))
        #expect(deadlines == [.milliseconds(900)])
        #expect(!timer.restart(), "it has ended")
    }

    @Test func restartBeginsAPeriodAndACountAnew() throws {
        let timer = try schedule(.every(.seconds(1), count: 3))
        virtual.advance(by: .milliseconds(2_500))
        #expect(timer.restart())
        virtual.advance(by: .seconds(10))
        #expect(deadlines == [.seconds(1), .seconds(2)] + (0..<3).map { .milliseconds(3_500 + 1_000 * $0) })
        #expect(log.ticks.map(\.index) == [0, 1, 0, 1, 2])
        #expect(timer.state == .ended(.completed))
    }

    /// The first delay was shorter than the period, and the bound is shorter than that.
    @Test func aRestartNeverLeavesTheFirstDeadlineOut() throws {
        let timer = try schedule(.every(.seconds(10), after: .seconds(1), for: .seconds(5)))
        virtual.advance(by: .milliseconds(500))
        #expect(timer.restart())
        virtual.advance(by: .seconds(60))
        #expect(deadlines == [.milliseconds(10_500)])
        #expect(timer.state == .ended(.completed))
    }

    @Test func aTimerThatHadComputedDeadlinesKeepsItsRemainingTime() throws {
        let timer = try schedule(.computed { $0.advanced(by: .seconds(9)) })
        try timer.reschedule(.every(.seconds(1)))
        virtual.advance(by: .milliseconds(400))
        timer.pause()
        virtual.advance(by: .seconds(5))
        #expect(timer.remaining == .milliseconds(600))
        try timer.reschedule(.computed { $0.advanced(by: .seconds(2)) })
        timer.resume()
        virtual.advance(by: .seconds(2))
        #expect(deadlines == [.milliseconds(7_400)])
        #expect(timer.nextDeadline == virtual.now.advanced(by: .seconds(2)))
    }

    @Test func aTimerOnDemandRestartsItsLatestDelay() throws {
        let timer = try schedule(.onDemand)
        #expect(!timer.restart(), "it has had no schedule yet")
        try timer.reschedule(.once(after: .seconds(1)))
        virtual.advance(by: .seconds(5))
        #expect(timer.restart())
        virtual.advance(by: .seconds(1))
        #expect(deadlines == [.seconds(1), .seconds(6)])
    }

    @Test func anInstantCannotBeRestarted() throws {
        let timer = try schedule(.once(at: virtual.now.advanced(by: .seconds(1))))
        #expect(!timer.restart())
        virtual.advance(by: .seconds(1))
        #expect(log.count == 1)
    }
}
