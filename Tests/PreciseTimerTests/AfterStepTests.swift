// Deadlines that a step of the clock makes due are counted, and nobody was late for them.
import Dispatch
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

struct AfterStepTests {
    private let log = Log()
    private static let hour = Duration.seconds(3_600)

    /// Ten ticks of a second, a fault of the clock, and ten seconds more.
    private func statistics(
        on clock: TimerClock,
        _ fault: VirtualTime.Fault,
        _ policy: PreciseTimer.MissedTickPolicy = .skip
    ) throws -> [PreciseTimer.Statistics] {
        let virtual = VirtualTime(clock: clock)
        virtual.service.collectsStatistics = true
        let every = PreciseTimer.Schedule.every(.seconds(1))
        let timer = try PreciseTimer.schedule(every, on: virtual.service, missedTicks: policy, target: log) {
            $0.note($1)
        }
        timer.collectsStatistics = true
        virtual.advance(by: .milliseconds(10_500))
        virtual.inject(fault)
        virtual.advance(by: .seconds(10))
        return [try #require(virtual.service.statistics), try #require(timer.statistics)]
    }

    private typealias Fact = (
        clock: TimerClock, fault: VirtualTime.Fault, policy: PreciseTimer.MissedTickPolicy, counts: [Int], stall: Int
    )

    /// The ticks, those after a step, the missed deadlines, the ticks with a lateness, and the longest one in
    /// milliseconds. A suspension is a step on a clock that goes on.
    private static let facts: [Fact] = [
        (.wall, .stepClock(by: hour), .skip, [21, 1, 3_599, 20], 0),
        (.wall, .stepClock(by: .zero - hour), .skip, [10, 0, 0, 10], 0),
        (.wall, .stepClock(by: .seconds(60)), .catchUp(limit: 1_000), [80, 60, 0, 20], 0),
        (.suspending, .suspend(.seconds(60)), .skip, [20, 0, 0, 20], 0),
        (.continuous, .suspend(.seconds(60)), .skip, [11, 1, 59, 10], 0),
        (.wall, .suspend(.seconds(60)), .skip, [11, 1, 59, 10], 0),
        (.wall, .stall(.seconds(60)), .skip, [11, 0, 59, 11], 59_500),
    ]

    @Test(arguments: facts.indices) func nobodyIsLateForWhatAStepMakesDue(number: Int) throws {
        let (clock, fault, policy, counts, stall) = Self.facts[number]
        for statistics in try statistics(on: clock, fault, policy) {
            let all = [statistics.ticks, statistics.afterStep, statistics.missed, statistics.lateness.count]
            #expect(all == counts && statistics.longestStall?.length == .milliseconds(stall), "\(fault)")
            #expect(statistics.lateness.longest == .milliseconds(stall))
        }
    }

    @Test func statisticsTellOfStepsApartFromLateness() throws {
        let words = "21 ticks, 3599 missed, 1 after a step of the clock; 99 % at most 0 s late"
        for statistics in try statistics(on: .wall, .stepClock(by: Self.hour)) {
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

    /// Half an hour late by the clock, and an hour more in truth.
    @Test func aStepBackHidesNoLateness() throws {
        let virtual = VirtualTime(clock: .wall)
        virtual.service.collectsStatistics = true
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { $0.note($1) }
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

    @Test func stepsAddUpInSumsAndIntervals() throws {
        let (first, second) = (
            try statistics(on: .wall, .stepClock(by: Self.hour))[0],
            try statistics(on: .wall, .stepClock(by: Self.hour))[0]
        )
        var sum = first
        sum.merge(second)
        #expect([sum.ticks, sum.afterStep] == [42, 2])
        let rest = sum.since(first)
        #expect([rest.ticks, rest.afterStep, rest.missed] == [21, 1, 3_599])
    }
}
