// Steps of the wall clock: what they make due, and what lies in the future after them.
import Dispatch
import Foundation
import PreciseTimer
import PreciseTimerFoundation
import PreciseTimerTestKit
import TestSupport
import Testing

/// Deadlines that a step of the clock makes due are counted, and nobody was late for them.
struct AfterStepTests {
    private let log = Log()
    private static let hour = Duration.seconds(3_600)

    private static let every = PreciseTimer.Schedule.every(.seconds(1))

    private typealias Fact = (
        clock: TimerClock, schedule: PreciseTimer.Schedule, fault: VirtualTime.Fault,
        policy: PreciseTimer.MissedTickPolicy, counts: [Int], stall: Int
    )

    /// The ticks, those after a step, the missed deadlines, the ticks with a lateness, and the longest one in
    /// milliseconds. A suspension is a step on a clock that goes on.
    private static let facts: [Fact] = [
        (.wall, every, .stepClock(by: hour), .skip, [21, 1, 3_599, 20], 0),
        (.wall, .inSteps(of: 1), .stepClock(by: hour), .skip, [21, 1, 3_599, 20], 0),
        (.wall, every, .stepClock(by: .zero - hour), .skip, [10, 0, 0, 10], 0),
        (.wall, every, .stepClock(by: .seconds(60)), .catchUp(limit: 1_000), [80, 60, 0, 20], 0),
        (.suspending, every, .suspend(.seconds(60)), .skip, [20, 0, 0, 20], 0),
        (.continuous, every, .suspend(.seconds(60)), .skip, [11, 1, 59, 10], 0),
        (.wall, every, .suspend(.seconds(60)), .skip, [11, 1, 59, 10], 0),
        (.wall, every, .stall(.seconds(60)), .skip, [11, 0, 59, 11], 59_500),
    ]

    /// Ten ticks of a second, a fault of the clock, and ten seconds more.
    @Test(arguments: facts.indices) func nobodyIsLateForWhatAStepMakesDue(number: Int) throws {
        let (clock, schedule, fault, policy, counts, stall) = Self.facts[number]
        let virtual = VirtualTime(clock: clock)
        virtual.service.collectsStatistics = true
        let timer = try PreciseTimer.schedule(schedule, on: virtual.service, missedTicks: policy, target: log) {
            $0.note($1)
        }
        timer.collectsStatistics = true
        virtual.advance(by: .milliseconds(10_500))
        virtual.inject(fault)
        virtual.advance(by: .seconds(10))
        for statistics in [try #require(virtual.service.statistics), try #require(timer.statistics)] {
            let all = [statistics.ticks, statistics.afterStep, statistics.missed, statistics.lateness.count]
            #expect(all == counts && statistics.longestStall?.length == .milliseconds(stall), "\(fault)")
            #expect(statistics.lateness.longest == .milliseconds(stall))
            let words = counts[1] > 0 ? "missed, \(counts[1]) after a step of the clock; 99 %" : "; 99 % at most"
            #expect("\(statistics)".contains(words), "\(statistics)")
            var sum = statistics
            sum.merge(statistics)
            #expect(sum.afterStep == 2 * counts[1] && sum.since(statistics).afterStep == counts[1])
        }
    }

    @Test func aStepFrom1970MakesNobodyLate() throws {
        let virtual = VirtualTime(at: TimerInstant(nanoseconds: 1_000_000_000, clock: .wall))
        virtual.service.collectsStatistics = true
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { $0.note($1) }
        virtual.advance(by: .seconds(10))
        virtual.inject(.stepClock(by: .seconds(1_767_225_600)))
        for tick in 1...100 {
            virtual.inject(.wakeLate(by: .microseconds(5 * tick)))
            virtual.advance(by: .seconds(1) + .microseconds(tick == 1 ? 600 : 0))
        }
        let statistics = try #require(virtual.service.statistics)
        #expect(statistics.afterStep == 1 && statistics.ticks == 111)
        #expect(statistics.lateness.longest == .microseconds(500))
    }

    /// Half an hour late by the clock, and an hour more in truth.
    @Test func aStepBackHidesNoLateness() throws {
        let virtual = VirtualTime(clock: .wall)
        virtual.service.collectsStatistics = true
        try PreciseTimer.schedule(Self.every, on: virtual.service, target: log) { $0.note($1) }
        virtual.inject(.stepClock(by: .zero - Self.hour), after: .milliseconds(1_000) + Self.hour)
        virtual.jump(by: Self.hour * 1.5)
        #expect(virtual.service.statistics?.afterStep == 1)
    }

    /// The clock is set forward while a handler runs on a queue, or before the first tick arrives there. After the
    /// handler, a tick is for the deadlines of that hour.
    @Test(arguments: [false, true])
    func aStepIsNeitherTheTimeOfAHandlerNorTheLatenessOfAHop(isInHandler: Bool) throws {
        let (virtual, queue) = (VirtualTime(clock: .wall), SuspendedQueue())
        virtual.service.collectsStatistics = true
        let place = PreciseTimer.Delivery.queue(queue.queue)
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, deliver: place, target: log) {
            $0.note($1)
            guard isInHandler, $0.count == 1 else { return }
            virtual.inject(.stepClock(by: Self.hour))
            virtual.advanceWithoutSettling(by: .milliseconds(1))
        }
        virtual.advanceWithoutSettling(by: .seconds(1))
        if !isInHandler {
            virtual.inject(.stepClock(by: Self.hour))
            virtual.advanceWithoutSettling(by: .milliseconds(1))
        }
        queue.letRun()
        virtual.advanceWithoutSettling(by: .zero)
        queue.queue.sync {}
        let statistics = try #require(virtual.service.statistics)
        let counts = [statistics.ticks, statistics.afterStep, statistics.lateness.count, statistics.handlerTime.count]
        #expect(counts == (isInHandler ? [2, 1, 1, 1] : [1, 1, 0, 1]))
        #expect(statistics.lateness.longest == (isInHandler ? Duration.zero : nil))
        #expect(statistics.handlerTime.longest == .zero)
        #expect(virtual.service.slowHandlers.isEmpty && timer.cancel())
    }
}

/// The wall clock is set back in a bad moment: an instant that was right when it was noted lies in the future then.
struct SetBackTests {
    typealias Schedule = PreciseTimer.Schedule

    private let scene = Scene(clock: .wall)
    private static let hour = 3_600_000

    private func setBack(by step: Duration = .seconds(3_600)) {
        scene.virtual.inject(.stepClock(by: .zero - step))
        scene.virtual.advanceWithoutSettling(by: .zero)
    }

    // MARK: Timers that wait for the next round

    /// Both come due during a round, in which the clock is set back. One waits for the new time, and the other, whose
    /// deadline is long past, for nothing.
    @Test(arguments: [false, true]) func eachTimerThatComesDueInARoundKeepsItsOwnTime(lateIsFirst: Bool) throws {
        let scene = scene
        let late = try scene.timer(.every(.seconds(1), for: .seconds(10)), label: "late")
        #expect(late.pause(keeping: .grid))
        let trigger = try scene.handle(.once(after: .seconds(7_200))) { _, _ in
            if lateIsFirst { late.resume() }
            _ = try? scene.timer(.once(after: .zero), label: "soon")
            if !lateIsFirst { late.resume() }
            scene.virtual.inject(.stepClock(by: .seconds(-3_600)))
        }
        scene.advance(7_200_000)
        #expect(scene.ticks == "0@7200000, 0@1000 late 3599000 missed 9")
        scene.advance(Self.hour)
        #expect(scene.ticks(from: 2) == "0@7200000")
        withExtendedLifetime(trigger) {}
    }

    // MARK: Ticks that were asked for

    @Test(arguments: [false, true]) func anExtraTickComesAtOnce(isPaused: Bool) throws {
        let timer = try scene.timer(.every(.seconds(86_400)), paused: isPaused)
        timer.fire()
        setBack()
        timer.resume()
        scene.advance(0)
        #expect(scene.log.ticks.map(\.isExtra) == [true])
        scene.advance(Self.hour)
        #expect(scene.log.count == 1)
    }

    @Test func anExtraTickOfARoundInWhichTheClockIsSetBackComesAtOnce() throws {
        let scene = scene
        let timer = try scene.handle(.once(after: .seconds(10))) { timer, count in
            if count > 1 { return }
            timer.fire()
            scene.virtual.inject(.stepClock(by: .seconds(-3_600)))
        }
        scene.advance(10_000)
        scene.advance(0)
        #expect(scene.log.ticks.map(\.isExtra) == [false, true])
        withExtendedLifetime(timer) {}
    }

    /// The handler on a queue, or another thread, asks for it. The clock is set back in the same handler, or while the
    /// tick is on its way.
    @Test(arguments: [false, true]) func anExtraTickOnAQueueComesAtOnce(isInHandler: Bool) throws {
        let (tests, queue) = (self, SuspendedQueue())
        let (service, place) = (scene.virtual.service, PreciseTimer.Delivery.queue(queue.queue))
        let timer = try PreciseTimer.schedule(.every(.seconds(60)), on: service, deliver: place) { timer, tick in
            tests.scene.log.note(tick)
            guard isInHandler, tests.scene.log.count == 1 else { return }
            timer.fire()
            tests.setBack()
        }
        scene.virtual.advanceWithoutSettling(by: .seconds(isInHandler ? 60 : 0))
        if !isInHandler {
            timer.fire()
            scene.virtual.advanceWithoutSettling(by: .zero)
            setBack()
        }
        queue.letRun()
        scene.virtual.advanceWithoutSettling(by: .zero)
        queue.queue.sync {}
        #expect(scene.log.ticks.map(\.isExtra) == (isInHandler ? [false, true] : [true]))
        withExtendedLifetime(timer) {}
    }

    // MARK: Another rule

    private static func weekly() -> Schedule { .weekly(on: .thursday, at: DateComponents(hour: 1), in: .gmt) }
    private static func daily() -> Schedule { .daily(at: DateComponents(hour: 1), in: .gmt) }

    /// Virtual time begins on a Thursday, at midnight.
    @Test(
        arguments: [
            (weekly(), true, 30, 1), (weekly(), false, 30, 1), (daily(), true, 30, 1), (weekly(), true, 60, 1),
            // The clock may mean it: from a minute on, dates come again.
            (weekly(), true, 90, 2),
        ]
    )
    func aServedDateOfTheNewRuleDoesNotComeAgain(
        new: Schedule,
        isAfterStep: Bool,
        seconds: Int,
        runs: Int
    ) throws {
        let timer = try scene.timer(Self.weekly())
        scene.advance(Self.hour)
        if isAfterStep { setBack(by: .seconds(seconds)) }
        try timer.reschedule(new)
        if !isAfterStep { setBack(by: .seconds(seconds)) }
        scene.advance(600_000)
        #expect(scene.log.count == runs)
    }

    /// 65 s after the start, the former rule has served the 100th second.
    @Test func aRuleWithoutThatDeadlineBeginsNow() throws {
        let timer = try scene.timer(.inSteps(of: 100))
        scene.advance(100_000)
        try timer.reschedule(.inSteps(of: 10))
        setBack(by: .seconds(35))
        #expect(timer.nextDeadline == scene.at(75_000))
    }

    /// A deadline every 100 s. One or four of them have passed when the clock is set back.
    @Test(arguments: [
        (100, Duration.seconds(60), 200), (100, .seconds(60) + .nanoseconds(1), 100), (100, .seconds(3_600), -3_400),
        (450, .seconds(60), 500),
    ])
    func aSmallStepBackRepeatsNoDeadlineAndALongerOneDoes(passed: Int, step: Duration, next: Int) throws {
        let length = UInt64(100_000_000_000)
        let timer = try scene.timer(.computed { $0.advanced(by: .nanoseconds(length - $0.nanoseconds % length)) })
        scene.jump(passed * 1_000)
        setBack(by: step)
        #expect(timer.nextDeadline == scene.at(next * 1_000) && scene.log.count == 1)
    }
}
