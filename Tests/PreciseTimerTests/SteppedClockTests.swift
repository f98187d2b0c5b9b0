// Deadlines that a step of the clock makes due are counted, and nobody was late for them.
import Dispatch
import Foundation
import PreciseTimer
import PreciseTimerFoundation
import PreciseTimerTestKit
import TestSupport
import Testing

struct AfterStepTests {
    private let log = Log()
    private let hour = Duration.seconds(3_600)

    /// Ten ticks of a second, a fault of the clock, and ten seconds more.
    private func statistics(
        on clock: TimerClock,
        _ fault: VirtualTime.Fault,
        _ policy: PreciseTimer.MissedTickPolicy = .skip
    ) throws -> [PreciseTimer.Statistics] {
        let virtual = VirtualTime(clock: clock)
        virtual.service.collectsStatistics = true
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            missedTicks: policy,
            target: log
        ) { $0.note($1) }
        timer.collectsStatistics = true
        virtual.advance(by: .milliseconds(10_500))
        virtual.inject(fault)
        virtual.advance(by: .seconds(10))
        return [try #require(virtual.service.statistics), try #require(timer.statistics)]
    }

    @Test func aStepForwardMakesNobodyLate() throws {
        for statistics in try statistics(on: .wall, .stepClock(by: hour)) {
            let counts = [statistics.ticks, statistics.afterStep, statistics.missed, statistics.lateness.count]
            #expect(counts == [21, 1, 3_599, 20])
            let longest = [statistics.lateness.longest, statistics.longestStall?.length, statistics.p99]
            #expect(longest == [.zero, .zero, .zero] && statistics.lateness.mean == .zero)
            let words = "21 ticks, 3599 missed, 1 after a step of the clock; 99 % at most 0 s late"
            #expect(statistics.description.hasPrefix(words), "\(statistics)")
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
        #expect([statistics.afterStep, statistics.ticks] == [1, 111])
        #expect(statistics.lateness.longest == .microseconds(500))
    }

    @Test func aStepBackMakesNobodyLateNorHidesLateness() throws {
        for statistics in try statistics(on: .wall, .stepClock(by: .zero - hour)) {
            #expect([statistics.ticks, statistics.afterStep] == [10, 0])
        }
        let virtual = VirtualTime(clock: .wall)
        virtual.service.collectsStatistics = true
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { $0.note($1) }
        // Half an hour late by the clock, and an hour more in truth.
        virtual.inject(.stepClock(by: .zero - hour), after: .milliseconds(1_000) + hour)
        virtual.jump(by: hour * 1.5)
        #expect(virtual.service.statistics?.afterStep == 1)
    }

    @Test func aSuspensionIsAStepOnAClockThatGoesOn() throws {
        let counts = try TimerClock.allCases.map { try statistics(on: $0, .suspend(.seconds(60)))[0] }
            .map { [$0.ticks, $0.afterStep, $0.missed] }
        let byClock = Dictionary(uniqueKeysWithValues: zip(TimerClock.allCases, counts))
        #expect(byClock[.suspending] == [20, 0, 0])
        #expect(byClock[.continuous]?[1] == 1 && byClock[.continuous]?[2] == 59)
        #expect(byClock[.wall]?[1] == 1 && byClock[.wall]?[2] == 59)
    }

    @Test func eachLateTickOfACatchUpIsAfterTheStep() throws {
        let statistics = try statistics(on: .wall, .stepClock(by: .seconds(60)), .catchUp(limit: 1_000))[0]
        #expect([statistics.ticks, statistics.afterStep, statistics.missed] == [80, 60, 0])
        #expect(statistics.lateness.longest == .zero)
    }

    @Test func aStallIsLatenessAlsoOnAWallClock() throws {
        let statistics = try statistics(on: .wall, .stall(.seconds(60)))[0]
        #expect(statistics.afterStep == 0 && statistics.longestStall?.length == .milliseconds(59_500))
    }

    @Test func aStepWhileAHandlerRunsIsNeitherItsTimeNorTheNextTicksLateness() throws {
        let (virtual, queue) = (VirtualTime(clock: .wall), DispatchQueue(label: "hop"))
        let (runs, mayReturn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        virtual.service.collectsStatistics = true
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            deliver: .queue(queue),
            target: log
        ) { log, tick in
            log.note(tick)
            runs.signal()
            mayReturn.wait()
        }
        virtual.advance(by: .seconds(1))
        runs.wait()
        virtual.inject(.stepClock(by: hour))
        virtual.advance(by: .milliseconds(1))
        // The second tick is for the deadlines in that hour.
        for _ in 1...2 {
            mayReturn.signal()
            queue.sync {}
            virtual.advance(by: .zero)
        }
        let statistics = try #require(virtual.service.statistics)
        #expect([statistics.ticks, statistics.afterStep, statistics.handlerTime.count] == [2, 1, 1])
        #expect(statistics.lateness.longest == .zero && statistics.handlerTime.longest == .zero)
        #expect(virtual.service.slowHandlers.isEmpty && timer.cancel())
    }

    @Test func aStepBeforeAHopArrivesIsNoLatenessOfIt() throws {
        let (virtual, queue) = (VirtualTime(clock: .wall), DispatchQueue(label: "hop"))
        virtual.service.collectsStatistics = true
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            deliver: .queue(queue),
            target: log
        ) { $0.note($1) }
        queue.suspend()
        virtual.advance(by: .seconds(1))
        virtual.inject(.stepClock(by: hour))
        virtual.advance(by: .milliseconds(1))
        queue.resume()
        queue.sync {}
        let statistics = try #require(virtual.service.statistics)
        #expect([statistics.ticks, statistics.afterStep, statistics.lateness.count] == [1, 1, 0])
        #expect(statistics.longestStall == nil && timer.cancel())
    }

    @Test func stepsAddUpInSumsAndIntervals() throws {
        let (first, second) = (
            try statistics(on: .wall, .stepClock(by: hour))[0], try statistics(on: .wall, .stepClock(by: hour))[0]
        )
        var sum = first
        sum.merge(second)
        #expect([sum.ticks, sum.afterStep] == [42, 2])
        let rest = sum.since(first)
        #expect([rest.ticks, rest.afterStep, rest.missed] == [21, 1, 3_599])
    }
}

/// The wall clock is set back in a bad moment: an instant that was right when it was noted lies in the future then.
struct SetBackTests {
    typealias Schedule = PreciseTimer.Schedule

    private let scene = Scene(clock: .wall)
    private static let hour = 3_600_000

    private func setBack(by seconds: Int = 3_600) {
        scene.virtual.inject(.stepClock(by: .seconds(-seconds)))
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

    /// What happens between `fire()` and the tick: nothing, a pause, or another round.
    @Test(arguments: [false, true]) func anExtraTickComesAtOnce(isPaused: Bool) throws {
        let timer = try scene.timer(.every(.seconds(86_400)), paused: isPaused)
        #expect(timer.fire())
        setBack()
        if isPaused { timer.resume() }
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

    @Test func anExtraTickOnItsWayToAQueueComesAtOnce() throws {
        let queue = SuspendedQueue()
        let timer = try PreciseTimer.schedule(
            .every(.seconds(86_400)),
            on: scene.virtual.service,
            deliver: .queue(queue.queue),
            target: scene.log
        ) { $0.note($1) }
        timer.fire()
        scene.virtual.advanceWithoutSettling(by: .zero)
        setBack()
        queue.letRun()
        queue.queue.sync {}
        #expect(scene.log.ticks.map(\.isExtra) == [true])
    }

    /// The clock is set back after the call, in the same handler.
    @Test func anExtraTickThatAHandlerOnAQueueAsksForComesAtOnce() throws {
        let (tests, queue) = (self, SuspendedQueue())
        let handler = { @Sendable [log = scene.log] (timer: PreciseTimer, tick: PreciseTimer.Tick) in
            log.note(tick)
            if log.count > 1 { return }
            timer.fire()
            tests.setBack()
        }
        let (service, place) = (scene.virtual.service, PreciseTimer.Delivery.queue(queue.queue))
        let timer = try PreciseTimer.schedule(.every(.seconds(60)), on: service, deliver: place, handler: handler)
        scene.virtual.advanceWithoutSettling(by: .seconds(60))
        queue.letRun()
        queue.queue.sync {}
        scene.virtual.advanceWithoutSettling(by: .zero)
        queue.queue.sync {}
        #expect(scene.log.ticks.map(\.isExtra) == [false, true])
        withExtendedLifetime(timer) {}
    }

    @Test(arguments: [Schedule.every(.seconds(86_400)), .onDemand, .once(after: .seconds(86_400))])
    func theLastTickComesAtOnce(schedule: Schedule) async throws {
        let timer = try scene.timer(schedule)
        let finishing = Task.immediate { try await timer.finish() }
        setBack()
        scene.advance(0)
        try #require(timer.hasEnded)
        #expect(try await finishing.value)
        #expect(scene.log.ticks.map(\.isExtra) == [true])
    }

    @Test func theLastTickForWhatHadPassedComesWithTheNextWakeUp() async throws {
        let timer = try scene.timer(.every(.seconds(1)))
        scene.virtual.inject(.wakeLate(by: .seconds(60)))
        scene.virtual.advanceWithoutSettling(by: .milliseconds(2_500))
        let finishing = Task.immediate { try await timer.finish() }
        setBack()
        scene.advance(60_000)
        try #require(timer.hasEnded)
        #expect(try await finishing.value)
        #expect(scene.log.ticks.map { [$0.index, $0.missed] } == [[0, 1]])
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
        if isAfterStep { setBack(by: seconds) }
        try timer.reschedule(new)
        if !isAfterStep { setBack(by: seconds) }
        scene.advance(600_000)
        #expect(scene.log.count == runs)
    }

    /// 65 s after the start, the former rule has served the 100th second.
    @Test func aRuleWithoutThatDeadlineBeginsNow() throws {
        func inSteps(of seconds: Int) -> Schedule { .computed(on: .wall) { $0.advanced(by: .seconds(seconds)) } }
        let timer = try scene.timer(inSteps(of: 100))
        scene.advance(100_000)
        try timer.reschedule(inSteps(of: 10))
        setBack(by: 35)
        #expect(timer.nextDeadline == scene.at(75_000))
    }
}
