import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// The policy `.skip`, as a table on virtual time: a timer of 300 ns with a late round.
struct MissedTickTests {
    private let virtual = VirtualTime()
    private let log = Log()

    /// The lateness in nanoseconds, the first tick's missed count, and the next tick's index.
    @Test(arguments: [
        (0, 0, 1), (1, 0, 1), (299, 0, 1), (300, 1, 2), (301, 1, 2), (599, 1, 2), (600, 2, 3), (9_000, 30, 31),
    ])
    func aLateTickCarriesTheOldestDeadlineAndCountsTheLaterOnes(late: Int, missed: Int, next: UInt64) throws {
        let start = virtual.now
        try PreciseTimer.schedule(.every(.nanoseconds(300)), on: virtual.service, target: log) { $0.note($1) }
        virtual.jump(by: .nanoseconds(300 + late))
        virtual.advance(by: .nanoseconds(300))

        let first = try #require(log.ticks.first)
        #expect(first.index == 0)
        #expect(first.deadline == start.advanced(by: .nanoseconds(300)))
        #expect(first.lateness == .nanoseconds(late))
        #expect(first.missed == missed)
        let second = try #require(log.ticks.dropFirst().first)
        #expect(second.index == next)
        #expect(second.deadline == start.advanced(by: .nanoseconds(300 * (Int64(next) + 1))))
        #expect(second.lateness == .zero)
    }

    @Test func everyMissOfASlowHandlerIsCounted() throws {
        let virtual = virtual
        try PreciseTimer.schedule(.every(.milliseconds(10)), on: virtual.service, target: log) {
            $0.note($1)
            virtual.jump(by: .milliseconds(25))
        }
        virtual.advance(by: .milliseconds(10))
        for _ in 0..<99 { virtual.advance(by: .zero) }
        #expect(log.count == 100)
        // The deadlines up to the last round, with which the hundredth handler began.
        let accounted = log.ticks.accounted
        #expect(accounted == (10 + 99 * 25) / 10)
    }

    @Test func aStartAnHourInThePastGivesOneLateTick() throws {
        virtual.advance(by: .seconds(7_200))
        let start = virtual.now.advanced(by: .seconds(-3_600))
        try PreciseTimer.schedule(.every(.milliseconds(1), at: start), on: virtual.service, target: log) { $0.note($1) }
        virtual.advance(by: .milliseconds(1))
        #expect(log.ticks.map(\.missed) == [3_600_000, 0])
        #expect(log.ticks.map(\.index) == [0, 3_600_001])
        #expect(log.ticks.first?.deadline == start)
    }

    @Test func theEndOfTimeIsReachedWithoutATrap() throws {
        let origin = TimerInstant(nanoseconds: 0)
        try PreciseTimer.schedule(.every(.nanoseconds(1), at: origin), on: virtual.service, target: log) { $0.note($1) }
        for _ in 0..<3 { virtual.jump(by: .seconds(Int64.max)) }
        #expect(virtual.now.isNever)
        #expect(log.ticks.map(\.missed) == [Int.max])
    }

    @Test func aYearOfMillisecondsDoesNotDrift() throws {
        let start = virtual.now
        try PreciseTimer.schedule(.every(.milliseconds(1)), on: virtual.service, target: log) { $0.note($1) }
        virtual.jump(by: .seconds(31_536_000))
        virtual.advance(by: .milliseconds(1))
        let last = try #require(log.ticks.last)
        #expect(start.duration(to: last.deadline) == .seconds(31_536_000) + .milliseconds(1))
        #expect(last.index == 31_536_000_000)
    }
}

/// Every tick of a timer of 300 ns after late rounds, exactly, under each policy.
struct MissedTickTableTests {
    private let virtual = VirtualTime()

    @Test(arguments: LateStory.all, LateStory.Policy.allCases)
    func everyTickFollowsThePolicy(story: LateStory, policy: LateStory.Policy) throws {
        let (virtual, start, log) = (virtual, virtual.now, Log())
        let timer = try PreciseTimer.schedule(
            story.schedule,
            on: virtual.service,
            missedTicks: policy.policy,
            target: log
        ) { log, tick in
            log.note(tick)
            if log.count <= story.slowTicks { virtual.jump(by: .nanoseconds(700)) }
        }
        for move in story.moves {
            switch move {
            case .advance(let end): virtual.advance(by: virtual.now.duration(to: start.advanced(by: .nanoseconds(end))))
            case .jump(let end): virtual.jump(by: virtual.now.duration(to: start.advanced(by: .nanoseconds(end))))
            case .pause: timer.pause(keeping: .grid)
            case .resume: timer.resume()
            }
        }
        #expect(log.ticks.map { LateStory.Row($0, from: start) } == story.rows[policy])
    }

    @Test(arguments: LateStory.Policy.allCases)
    func aTimerRescheduledInItsHandlerDropsTheOldSchedulesDeadlines(policy: LateStory.Policy) throws {
        let (start, log) = (virtual.now, Log())
        let timer = Box<PreciseTimer>()
        timer.value = try PreciseTimer.schedule(
            .every(.nanoseconds(300)),
            on: virtual.service,
            missedTicks: policy.policy,
            target: log
        ) { log, tick in
            log.note(tick)
            if log.count == 1 { try? timer.value?.reschedule(.every(.nanoseconds(100))) }
        }
        virtual.jump(by: .nanoseconds(951))
        virtual.advance(by: .nanoseconds(200))
        let first = LateStory.Row(0, 300, policy == .catchUp ? 0 : 2)
        let rows = log.ticks.map { LateStory.Row($0, from: start) }
        #expect(rows == [first, LateStory.Row(0, 1_051, 0), LateStory.Row(1, 1_151, 0)])
        timer.value = nil
    }
}
