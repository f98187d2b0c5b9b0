import Foundation
import PreciseTimer
import PreciseTimerFoundation
import PreciseTimerTestKit
import TestSupport
import Testing

/// What calendars leave to chance, and what ends them. Virtual time begins with the year 2026, at midnight.
struct CalendarChanceTests {
    typealias Schedule = PreciseTimer.Schedule

    private let virtual = VirtualTime(clock: .wall)
    private let log = Log()

    private func schedule(_ schedule: Schedule, _ policy: PreciseTimer.MissedTickPolicy = .skip) throws -> PreciseTimer
    {
        try PreciseTimer.schedule(schedule, on: virtual.service, missedTicks: policy, target: log) { $0.note($1) }
    }

    private static let half = DateComponents(hour: 2, minute: 30)

    /// By how much deadlines are later than 02:30, in seconds.
    private static func delays(_ deadlines: [TimerInstant]) -> [Double] {
        deadlines.map { Double($0.nanoseconds % 86_400_000_000_000) / 1e9 - 9_000 }
    }

    // MARK: Chance

    /// One that is rescheduled draws another, too.
    @Test func eachTimerOfAScheduleHasItsOwnFixedDelay() throws {
        let nightly = Schedule.daily(at: Self.half, in: .gmt, spread: .seconds(600))
        var (delays, timer): (Set<Double>, PreciseTimer?) = ([], nil)
        for number in 0..<20 {
            let before = log.count
            if number % 2 == 0 { timer = try schedule(nightly) } else { try timer?.reschedule(nightly) }
            virtual.advance(by: .seconds(3 * 86_400))
            let own = Self.delays(log.ticks.dropFirst(before).map(\.deadline))
            #expect(own.count == 3 && Set(own).count == 1 && own.allSatisfy { (0...600).contains($0) }, "\(own)")
            delays.formUnion(own)
            if number % 2 == 1 { timer?.cancel() }
        }
        #expect(delays.count == 20 && (delays.max() ?? 0) - (delays.min() ?? 0) > 200, "\(delays)")
    }

    @Test func theDelaysFollowFromTheSeedOfVirtualTime() throws {
        let nightly = Schedule.daily(at: Self.half, in: .gmt, spread: .seconds(600))
        let deadlines = try [1, 1, 2]
            .map { try Scene(clock: .wall, seed: $0).timer(nightly).nextDeadline }
        #expect(deadlines[0] == deadlines[1] && deadlines[0] != deadlines[2])
    }

    @Test func jitterIsDrawnAnewForEachDeadline() throws {
        let timer = try schedule(.daily(at: Self.half, in: .gmt, jitter: .seconds(600)))
        virtual.advance(by: .seconds(40 * 86_400))
        timer.cancel()
        let delays = Self.delays(log.ticks.map(\.deadline))
        #expect(delays.count == 40 && Set(delays).count == 40 && delays.allSatisfy { (0...600).contains($0) })
        #expect((delays.max() ?? 0) > 500 && (delays.min() ?? 600) < 100, "\(delays)")
        #expect(log.ticks.map(\.index) == Array(0..<40) && log.ticks.allSatisfy { $0.missed == 0 })
    }

    /// The clocks of the zone jump by an hour on 29 March, and by half an hour on Lord Howe Island.
    @Test(arguments: ["Europe/Berlin", "Australia/Lord_Howe"], [false, true])
    func theLongestJitterKeepsTheOrderOfTheDates(identifier: String, isHourly: Bool) throws {
        let zone = try #require(TimeZone(identifier: identifier))
        let jittered: Schedule =
            isHourly
            ? .hourly(at: 30, in: zone, jitter: .seconds(3_600))
            : .daily(at: Self.half, in: zone, jitter: .seconds(86_400))
        let start = try #require(Date(virtual.now))
        // Those of a schedule lack its jitter.
        let dates = Array(jittered.deadlines(after: start, count: isHourly ? 3_000 : 300))
        let timer = try schedule(jittered)
        virtual.advance(by: .seconds(isHourly ? 120 * 86_400 : 290 * 86_400))
        timer.cancel()
        let ticks = log.ticks
        #expect(ticks.count > (isHourly ? 2_870 : 285) && ticks.map(\.index) == Array(0..<ticks.count))
        // The first deadline may be that of a date before the start.
        let first = ticks[0].deadline < TimerInstant(dates[0]) ? 1 : 0
        let misplaced = ticks.indices.dropFirst(first)
            .first { number in
                let range = TimerInstant(dates[number - first])..<TimerInstant(dates[number - first + 1])
                return !range.contains(ticks[number].deadline)
            }
        #expect(misplaced == nil)
    }

    /// The watch of the clock computes each deadline anew about once a minute, also between a date and its deadline.
    @Test(arguments: [(600, nil), (nil, 600), (86_400, 86_400)] as [(Int?, Int?)])
    func aCheckOfTheClockMovesNoDeadline(spread: Int?, jitter: Int?) throws {
        let nightly = Schedule.daily(
            at: Self.half,
            in: .gmt,
            spread: spread.map { .seconds($0) },
            jitter: jitter.map { .seconds($0) }
        )
        let timer = try schedule(nightly)
        for _ in 0..<10 {
            let next = try #require(timer.nextDeadline)
            virtual.advance(by: virtual.now.duration(to: next) - .nanoseconds(1))
            virtual.inject(.stepClock(by: .zero))
            virtual.advance(by: .zero)
            #expect(timer.nextDeadline == next)
            virtual.advance(by: .nanoseconds(1))
            virtual.inject(.stepClock(by: .seconds(-30)))
            virtual.advance(by: .seconds(30))
        }
        #expect(log.ticks.map(\.index) == Array(0..<10) && log.ticks.allSatisfy { $0.missed == 0 })
    }

    @Test func aTickThatIsLateCountsTheDeadlinesAndNotTheDates() throws {
        let timer = try schedule(.daily(at: Self.half, in: .gmt, spread: .seconds(7_200)))
        let first = try #require(timer.nextDeadline)
        // 02:30 has passed once more, but not the deadline of that day.
        virtual.jump(by: virtual.now.duration(to: first) + .seconds(86_399))
        virtual.advance(by: .zero)
        #expect(log.ticks.map(\.missed) == [0])
        virtual.jump(by: .seconds(86_401))
        virtual.advance(by: .zero)
        #expect(log.ticks.map { [$0.index, $0.missed] } == [[0, 0], [1, 1]])
    }

    // MARK: Ends

    @Test(arguments: [
        (Schedule.daily(at: half, in: .gmt, count: 3), 3),
        (.daily(at: half, in: .gmt, for: .seconds(5 * 86_400)), 5),
        (.daily(at: half, in: .gmt, for: .seconds(9_000)), 1),
        (.hourly(at: 30, in: .gmt, jitter: .seconds(600), for: .seconds(7_200)), 2),
        (.daily(at: half, in: .gmt, count: 9, spread: .seconds(3_600), for: .seconds(2 * 86_400)), 2),
    ])
    func aCountAndASpanEndATimer(schedule: Schedule, ticks: Int) throws {
        let timer = try self.schedule(schedule)
        virtual.advance(by: .seconds(40 * 86_400))
        #expect(log.ticks.map(\.index) == Array(0..<ticks))
        #expect(timer.state == .ended(.completed) && virtual.pendingCount == 0)
    }

    /// One day passes, and then nine at once.
    @Test(
        arguments: [(.skip, [[0, 0], [1, 8]]), (.catchUp(limit: 5), [[0, 0], [1, 0], [2, 0]])]
            as [(PreciseTimer.MissedTickPolicy, [[Int]])]
    )
    func theLastTickOfACountStandsForAllThatHavePassed(policy: PreciseTimer.MissedTickPolicy, ticks: [[Int]]) throws {
        let timer = try schedule(.daily(at: Self.half, in: .gmt, count: ticks.count), policy)
        virtual.advance(by: .seconds(86_400))
        virtual.jump(by: .seconds(9 * 86_400))
        virtual.advance(by: .zero)
        #expect(log.ticks.map { [$0.index, $0.missed] } == ticks)
        #expect(timer.state == .ended(.completed))
    }
}

/// The deadlines of a schedule as dates.
struct ScheduleDeadlinesTests {
    typealias Schedule = PreciseTimer.Schedule

    /// The first moment of 2026, UTC.
    private static let start = Date(timeIntervalSince1970: 1_767_225_600)
    private static let origin = TimerInstant(start)

    private static let table: [(schedule: Schedule, seconds: [Int])] = [
        (.daily(at: .init(hour: 2, minute: 30), in: .gmt), [9_000, 95_400, 181_800]),
        (.weekly(on: .friday, .thursday, at: .init(hour: 1), in: .gmt), [3_600, 90_000, 608_400]),
        (.hourly(at: 5, in: .gmt, spread: .seconds(600), jitter: .seconds(60)), [300, 3_900, 7_500]),
        (.calendar(DateComponents(year: 2026, month: 2, day: 1, hour: 0), in: .gmt), [2_678_400]),
        (.daily(at: .init(hour: 2), in: .gmt, count: 2), [7_200, 93_600]),
        (.daily(at: .init(hour: 2), in: .gmt, for: .seconds(86_400)), [7_200]),
        (.every(.seconds(10), at: origin), [10, 20, 30]),
        (.every(.seconds(10), at: origin.advanced(by: .seconds(-95))), [5, 15, 25]),
        (.every(.seconds(10), at: origin.advanced(by: .seconds(7)), count: 2), [7, 17]),
        (.every(.seconds(3_600), alignedTo: .origin(on: .wall)), [3_600, 7_200, 10_800]),
        (.every(.seconds(10), after: .seconds(3), spread: .seconds(5), jitter: .seconds(5)), [3, 13, 23]),
        (.every(.seconds(10), for: .seconds(25)), [10, 20]), (.rate(2, per: .seconds(60)), [30, 60, 90]),
        (.rate(1, per: .seconds(60), at: origin.advanced(by: .seconds(1))), [1, 61, 121]),
        (.once(at: start), []), (.once(at: start.addingTimeInterval(5)), [5]), (.once(after: .seconds(7)), [7]),
        (.fixedDelay(.seconds(4)), [4]), (.onDemand, []), (.once(at: .origin(on: .continuous)), []),
        (.daily(at: .init(hour: 25)), []), (.every(.zero), []),
        (.computed { $0.advanced(by: .seconds(2)) }, [2, 4, 6]),
    ]

    @Test(arguments: table.indices) func aScheduleTellsItsDeadlinesAfterADate(number: Int) {
        let (schedule, seconds) = Self.table[number]
        let dates = schedule.deadlines(after: Self.start, count: 3)
        // It may be read again.
        for _ in 0..<2 {
            #expect(
                dates.map { $0.timeIntervalSince(Self.start) } as [Double] == seconds.map(Double.init),
                "\(schedule)"
            )
        }
        #expect(Array(schedule.deadlines(after: Self.start, count: 0)).isEmpty)
    }

    @Test func aDateIsComputedWhenItIsAskedFor() {
        let asked = Count()
        let rule = Schedule.computed { $0.advanced(by: .seconds(asked.add(1) > 0 ? 1 : 0)) }
        let iterator = rule.deadlines(after: Self.start).makeIterator()
        #expect(asked.value == 0)
        for number in 1...3 {
            _ = iterator.next()
            #expect(asked.value == number)
        }
    }
}
