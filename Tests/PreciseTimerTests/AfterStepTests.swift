// Deadlines that a step of the clock makes due are counted, and nobody was late for them.
import Dispatch
import PreciseTimer
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
