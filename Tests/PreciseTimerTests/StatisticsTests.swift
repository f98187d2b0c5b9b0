// What is counted of ticks and handlers, and the values that come of it.
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

@Suite(.waits("a thread reads what another counts"), .timeLimit(.minutes(60))) struct StatisticsTests {
    private let virtual = VirtualTime()
    private let log = Log()

    @discardableResult private func schedule(
        _ schedule: PreciseTimer.Schedule = .every(.seconds(1)),
        meanwhile body: @escaping @Sendable () -> Void = {}
    ) throws -> PreciseTimer {
        try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { log, tick in
            log.note(tick)
            body()
        }
    }

    @Test func onlyWhatIsWantedIsCounted() throws {
        let timer = try schedule()
        let readings = [nil, true, true, false]
            .map { isWanted in
                if let isWanted { timer.collectsStatistics = isWanted }
                virtual.advance(by: .seconds(5))
                return "\(timer.collectsStatistics) \(timer.statistics?.ticks ?? -1)"
            }
        #expect(readings == ["false -1", "true 5", "true 10", "false -1"])
        #expect(!virtual.service.collectsStatistics && virtual.service.statistics == nil)
        timer.cancel()
        timer.collectsStatistics = true
        #expect(!timer.collectsStatistics && timer.statistics == nil, "a timer that has ended begins nothing")
    }

    @Test func deadlinesThatARuleFindsMissedAreCountedAndAtMostTheGreatestNumber() throws {
        let timer = try schedule(.computed { $0.advanced(by: .seconds(1)) })
        (timer.collectsStatistics, virtual.service.collectsStatistics) = (true, true)
        virtual.jump(by: .milliseconds(5_500))
        #expect([timer.statistics?.missed, virtual.service.statistics?.missed] == [4, 4])
        for _ in 0..<3 { try schedule(.every(.nanoseconds(1))) }
        virtual.jump(by: .nanoseconds(Int64.max / 2))
        #expect(virtual.service.statistics?.missed == .max)
    }

    @Test func theFactsOfATimer() throws {
        let timer = try schedule { [virtual] in virtual.advance(by: .milliseconds(100)) }
        timer.collectsStatistics = true
        virtual.advance(by: .seconds(10))
        virtual.jump(by: .seconds(4))
        let (run, call) = (try #require(timer.lastRun), Duration.milliseconds(100))
        #expect([run.start.duration(to: virtual.now), run.duration] == [call, call], "it began with its tick")
        virtual.advance(by: .seconds(6))
        let statistics = try #require(timer.statistics)
        #expect(statistics.counts == [log.count, log.ticks.accounted - log.count, log.count])
        let latest = try #require(log.ticks.max { $0.lateness < $1.lateness })
        let (lateness, handlers, stall) = (statistics.lateness, statistics.handlerTime, statistics.longestStall)
        let lengths = [lateness.longest, lateness.total, stall?.length, handlers.longest, handlers.mean]
        #expect(lengths == [latest.lateness, log.ticks.map(\.lateness).reduce(.zero, +), latest.lateness, call, call])
        #expect(stall?.deadline == latest.deadline && latest.missed > 0)
    }

    /// A debug build observes every service for its warnings, so a mistake shows in a release build.
    @Test(arguments: [nil, "Bad()"]) func theTickInWhichATimerEndsItselfIsCounted(error: String?) throws {
        struct Bad: Error {}
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service) { [log] timer, tick in
            log.note(tick)
            if log.count < 3 { return }
            if error != nil { throw Bad() }
            timer.cancel()
        }
        timer.collectsStatistics = true
        virtual.advance(by: .seconds(5))
        #expect(timer.hasEnded && timer.statistics?.counts == [3, 0, 3])
        #expect(timer.lastRun?.start == log.ticks.last?.delivered && timer.lastRun?.error == error)
    }

    @Test(arguments: DeliveryKind.allCases) func ticksAreCountedInEveryPlace(kind: DeliveryKind) async throws {
        let (service, place) = (try TimerService(.usual), Place(kind))
        service.collectsStatistics = true
        // Its first tick is far away until its statistics are collected.
        let timer = try place.schedule(.every(.seconds(3_600)), on: service, target: log) { [log] in log.note($0) }
        timer.collectsStatistics = true
        try timer.reschedule(.every(.milliseconds(2)))
        let torn = Count()
        let hasTicked = await soon {
            let counted = service.statistics.map { [$0.ticks, $0.lateness.buckets.map(\.count).reduce(0, +)] } ?? []
            if Set(counted).count != 1 { torn.add(1) }
            return log.count >= 10
        }
        #expect(hasTicked && torn.value == 0, "a reading is whole while a thread counts")
        #expect(await timer.cancelAndWait())
        for statistics in [try #require(timer.statistics), try #require(service.statistics)] {
            #expect([statistics.ticks, statistics.ticks + statistics.missed] == [log.count, log.ticks.accounted])
            #expect(statistics.lateness.longest == log.ticks.map(\.lateness).max())
            #expect(statistics.handlerTime.count >= statistics.ticks - 1, "the last one may be missing")
        }
        service.shutdown()
    }

    /// Those of timers that have ended are among the service's.
    @Test func awaitedTicksAreCountedWithoutAHandler() async throws {
        virtual.service.collectsStatistics = true
        let consumer = Task {
            for try await tick in PreciseTimer.ticks(.every(.seconds(1)), on: virtual.service) where tick.index >= 2 {
                return
            }
        }
        while virtual.pendingCount == 0 { await virtual.settle() }
        for _ in 0..<3 { await virtual.advance(by: .seconds(1)) }
        try await consumer.value
        #expect(virtual.service.statistics?.counts == [3, 0, 0])
    }
}

extension PreciseTimer.Statistics {
    /// The ticks, the missed deadlines, and the calls that have returned.
    fileprivate var counts: [Int] { [ticks, missed, handlerTime.count] }
}

struct StatisticsValueTests {
    /// The statistics of a timer of 100 seconds whose ticks are late by these lengths.
    fileprivate func statistics(_ lateness: [Duration]) throws -> PreciseTimer.Statistics {
        let (virtual, log) = (VirtualTime(), Log())
        virtual.service.collectsStatistics = true
        try PreciseTimer.schedule(.every(.seconds(100)), on: virtual.service, target: log) { $0.note($1) }
        for late in lateness {
            let deadline = try #require(virtual.nextDeadline)
            virtual.jump(by: virtual.now.duration(to: deadline) + late)
        }
        return try #require(virtual.service.statistics)
    }

    private let many = (1...1_000).map { Duration.microseconds($0) }

    @Test func percentilesAreAtMostAnEighthTooLong() throws {
        let statistics = try statistics(many)
        let lateness = statistics.lateness
        #expect([statistics.p50, statistics.p99] == [lateness.percentile(0.5), lateness.percentile(0.99)])
        let wrong = stride(from: 0.001, through: 1, by: 0.001)
            .filter { share in
                let exact = Duration.microseconds((share * 1_000).rounded(.up))
                return lateness.percentile(share).map { $0 < exact * 0.999 || $0 > exact * 1.126 } ?? true
            }
        #expect(wrong == [])
        #expect([lateness.percentile(0), lateness.percentile(1)] == [.nanoseconds(1_023), .milliseconds(1)])
        #expect(try self.statistics([]).lateness.percentile(0.5) == nil)
    }

    @Test func aPercentileInPercentIsAProgrammingError() async {
        await #expect(processExitsWith: .failure) {
            _ = try StatisticsValueTests().statistics([]).lateness.percentile(50)
        }
    }

    @Test func mergingIsTheSameAsCountingTogether() throws {
        let all = [.seconds(250)] + many + [.seconds(250)]
        var merged = try statistics(Array(all.prefix(300)))
        merged.merge(try statistics(Array(all.dropFirst(300))))
        let together = try statistics(all)
        #expect([merged.lateness, merged.handlerTime] == [together.lateness, together.handlerTime])
        #expect(merged.counts == [1_002, 4, 1_002])
        for other in [together, try statistics([.zero])] {
            var none = try statistics([])
            #expect(none.longestStall == nil)
            none.merge(other)
            #expect(none == other)
        }
        #expect(try statistics([.zero]).lateness.percentile(0) == .zero)
    }

    @Test func theLongerStallIsMergedAndOfTwoEqualOnesTheOwn() throws {
        let (three, same) = (try statistics([.seconds(3)]), try statistics([.zero, .seconds(3)]))
        let (four, none) = (try statistics([.seconds(4)]), try statistics([.zero]))
        let cases = [
            (three, same, three), (same, three, same), (three, four, four), (four, three, four), (none, three, three),
        ]
        let onTime = try statistics([.zero, .zero]).longestStall
        #expect(onTime.map { VirtualTime().now.duration(to: $0.deadline) } == .seconds(200), "the latest of equal ones")
        for (own, other, longest) in cases {
            var merged = own
            merged.merge(other)
            #expect(merged.longestStall == longest.longestStall, "\(own) and \(other)")
        }
    }

    @Test func theTimeBetweenTwoReadingsIsTheirDifference() throws {
        let first = try statistics([.seconds(450)])
        let second = try statistics([.seconds(450), .seconds(250)])
        let (between, nothing) = (second.since(first), second.since(second))
        #expect([between.counts, nothing.counts] == [[1, 2, 1], [0, 0, 0]])
        #expect(between.lateness.total == .seconds(250) && nothing.lateness.percentile(0.5) == nil)
        #expect(between.longestStall == nil, "the longest one was before")
        #expect(between.lateness.longest.map { (.seconds(250)...(.seconds(282))).contains($0) } == true)
        #expect(first.since(try statistics([.zero, .zero])) == first, "collecting began anew")
        let late = try [[10], [10, 10], [10, 17]].map { try statistics($0.map { .seconds($0) }).lateness }
        #expect(late[1...].map { $0.since(late[0]).longest } == [.seconds(10), .seconds(17)], "no longer than of all")
    }

    @Test func aReadingOfOtherTicksIsSubtractedToNothingAtMost() throws {
        let few = try statistics([.zero])
        let rest = few.lateness.since(try statistics([.seconds(10), .seconds(10)]).lateness)
        #expect(rest.count == 1 && rest.total == .zero && rest.buckets == few.lateness.buckets)
        #expect(few.since(try statistics([.seconds(250)])).missed == 0)
        let same = few.lateness.since(try statistics([.zero, .zero]).lateness)
        #expect(same.count == 0 && same.buckets.isEmpty)
    }
}
