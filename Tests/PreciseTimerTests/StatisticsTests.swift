import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

@Suite(.waits("a thread reads what another counts"), .timeLimit(.minutes(60))) struct StatisticsTests {
    @Test func nothingIsCollectedUnlessItIsWanted() throws {
        let (virtual, log) = (VirtualTime(), Log())
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { $0.note($1) }
        virtual.advance(by: .seconds(5))
        #expect(timer.statistics == nil && virtual.service.statistics == nil)
        #expect(!timer.collectsStatistics && !virtual.service.collectsStatistics)
        timer.collectsStatistics = true
        virtual.advance(by: .seconds(5))
        #expect(timer.statistics?.ticks == 5, "they begin at zero")
        timer.collectsStatistics = true
        #expect(timer.statistics?.ticks == 5, "they go on")
        timer.collectsStatistics = false
        #expect(timer.statistics == nil)
    }

    @Test func aTimerThatHasEndedBeginsNothing() throws {
        let (virtual, log) = (VirtualTime(), Log())
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { $0.note($1) }
        timer.cancel()
        timer.collectsStatistics = true
        #expect(!timer.collectsStatistics && timer.statistics == nil)
    }

    @Test func theLatestCallBeginsWithItsTickAndNotWithItsDeadline() throws {
        let (virtual, log) = (VirtualTime(), Log())
        let timer = try PreciseTimer.schedule(.every(.seconds(9)), on: virtual.service, target: log) { [virtual] _, _ in
            virtual.advance(by: .seconds(1))
        }
        timer.collectsStatistics = true
        virtual.jump(by: .seconds(12))
        let run = try #require(timer.lastRun)
        #expect(run.start == virtual.now.advanced(by: .seconds(-1)) && run.duration == .seconds(1))
    }

    @Test func deadlinesThatARuleFindsMissedAreCountedForTheTimerAndTheService() throws {
        let (virtual, log) = (VirtualTime(), Log())
        let rule = PreciseTimer.Schedule.computed { $0.advanced(by: .seconds(1)) }
        let timer = try PreciseTimer.schedule(rule, on: virtual.service, target: log) { $0.note($1) }
        timer.collectsStatistics = true
        virtual.service.collectsStatistics = true
        virtual.jump(by: .milliseconds(5_500))
        #expect(timer.statistics?.missed == 4 && virtual.service.statistics?.missed == 4)
    }

    @Test func moreMissedDeadlinesThanCanBeCountedStayTheGreatestNumber() throws {
        let (virtual, log) = (VirtualTime(), Log())
        for _ in 0..<3 {
            try PreciseTimer.schedule(.every(.nanoseconds(1)), on: virtual.service, target: log) { $0.note($1) }
        }
        virtual.service.collectsStatistics = true
        virtual.jump(by: .nanoseconds(Int64.max))
        #expect(virtual.service.statistics?.missed == .max)
    }

    @Test func theFactsOfATimer() throws {
        let (virtual, log) = (VirtualTime(), Log())
        let start = virtual.now
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) {
            [virtual] log, tick in
            log.note(tick)
            virtual.advance(by: .milliseconds(100))
        }
        timer.collectsStatistics = true
        virtual.advance(by: .seconds(10))
        virtual.jump(by: .seconds(4))
        virtual.advance(by: .seconds(6))
        let statistics = try #require(timer.statistics)
        #expect(statistics.ticks == log.count)
        #expect(statistics.ticks + statistics.missed == log.ticks.accounted)
        #expect(statistics.missed > 0)
        let lateness = log.ticks.map(\.lateness)
        #expect(statistics.lateness.longest == lateness.max())
        #expect(statistics.lateness.total == lateness.reduce(.zero, +))
        #expect(statistics.handlerTime.count == statistics.ticks)
        #expect(statistics.handlerTime.longest == .milliseconds(100))
        #expect(statistics.handlerTime.mean == .milliseconds(100))
        let latest = try #require(log.ticks.max { $0.lateness < $1.lateness })
        #expect(statistics.longestStall?.length == latest.lateness)
        #expect(statistics.longestStall.map { $0.deadline >= latest.deadline && $0.deadline > start } == true)
    }

    @Test func aServiceHasTheTicksOfAllItsTimersAndOfThoseThatHaveEnded() throws {
        let (virtual, log) = (VirtualTime(), Log())
        virtual.service.collectsStatistics = true
        let timers = try (1...5)
            .map { number in
                try PreciseTimer.schedule(.every(.seconds(number), count: 3), on: virtual.service, target: log) {
                    $0.note($1)
                }
            }
        timers[0].collectsStatistics = true
        virtual.advance(by: .seconds(100))
        #expect(virtual.pendingCount == 0)
        #expect(virtual.service.statistics?.ticks == 15)
        #expect(virtual.service.statistics?.handlerTime.count == 15)
        #expect(timers[0].statistics?.ticks == 3, "an ended timer keeps them")
        #expect(timers[1].statistics == nil)
    }

    @Test(arguments: Ground.all, DeliveryKind.allCases)
    func ticksAreCountedOnEveryGroundAndInEveryPlace(ground: Ground, kind: DeliveryKind) async throws {
        let (site, place, log) = (try ground.site(), Place(kind), Log())
        site.service.collectsStatistics = true
        // Its first tick is far away until its statistics are collected.
        let timer = try place.schedule(.every(.seconds(3_600)), on: site.service, target: log) { log.note($0) }
        timer.collectsStatistics = true
        try timer.reschedule(.every(.milliseconds(2)))
        for _ in 0..<10_000 where log.count < 10 {
            site.virtual?.advanceWithoutSettling(by: .milliseconds(2))
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(await timer.cancelAndWait())
        for statistics in [try #require(timer.statistics), try #require(site.service.statistics)] {
            #expect(statistics.ticks == log.count)
            #expect(statistics.ticks + statistics.missed == log.ticks.accounted)
            #expect(statistics.lateness.longest == log.ticks.map(\.lateness).max())
            #expect(statistics.handlerTime.count >= statistics.ticks - 1, "the last one may be missing")
        }
        site.service.shutdown()
    }

    @Test func awaitedTicksAreCountedWithoutAHandler() async throws {
        let virtual = VirtualTime()
        virtual.service.collectsStatistics = true
        let consumer = Task {
            for try await tick in PreciseTimer.ticks(.every(.seconds(1)), on: virtual.service) where tick.index >= 2 {
                return
            }
        }
        while virtual.pendingCount == 0 { await virtual.settle() }
        for _ in 0..<3 {
            virtual.advanceWithoutSettling(by: .seconds(1))
            await virtual.settle()
        }
        try await consumer.value
        #expect(virtual.service.statistics?.ticks == 3)
        #expect(virtual.service.statistics?.handlerTime.count == 0)
    }

    @Test func readingThemWhileTheyAreWrittenGivesWholeValues() async throws {
        let (service, log) = (try TimerService(.usual), Log())
        service.collectsStatistics = true
        for _ in 0..<20 {
            try PreciseTimer.schedule(.every(.microseconds(100)), on: service, target: log) { $0.note($1) }
        }
        var last: PreciseTimer.Statistics?
        #expect(await soon { log.count > 0 })
        for _ in 0..<200 {
            let statistics = try #require(service.statistics)
            let counted = statistics.lateness.buckets.map(\.count).reduce(0, +)
            #expect(counted == statistics.ticks)
            if let last { #expect(statistics.ticks >= last.ticks && statistics.missed >= last.missed) }
            last = statistics
            try await Task.sleep(for: .microseconds(100))
        }
        service.shutdown()
    }
}

struct StatisticsValueTests {
    /// The statistics of a timer that ticked late by these lengths.
    private func statistics(_ lateness: [Duration]) throws -> PreciseTimer.Statistics {
        let (virtual, log) = (VirtualTime(), Log())
        virtual.service.collectsStatistics = true
        for late in lateness {
            try PreciseTimer.schedule(.once(after: .seconds(1)), on: virtual.service, target: log) { $0.note($1) }
            virtual.inject(.wakeLate(by: late))
            virtual.advance(by: .seconds(100))
        }
        return try #require(virtual.service.statistics)
    }

    private let many = (1...1_000).map { Duration.microseconds($0) }

    @Test func percentilesAreAtMostAnEighthTooLong() throws {
        let lateness = try statistics(many).lateness
        for share in stride(from: 0.001, through: 1, by: 0.001) {
            let exact = Duration.microseconds((share * 1_000).rounded(.up))
            let found = try #require(lateness.percentile(share))
            #expect(found >= exact * 0.999 && found <= exact * 1.126, "\(share): \(found)")
        }
        #expect(lateness.percentile(1) == .milliseconds(1))
        #expect(lateness.percentile(0) != nil)
        #expect(try statistics([]).lateness.percentile(0.5) == nil)
    }

    @Test func aPercentileInPercentIsAProgrammingError() async {
        await #expect(processExitsWith: .failure) {
            let virtual = VirtualTime()
            virtual.service.collectsStatistics = true
            _ = virtual.service.statistics?.lateness.percentile(50)
        }
    }

    @Test func mergingIsTheSameAsCountingTogether() throws {
        var merged = try statistics(Array(many.prefix(300)))
        merged.merge(try statistics(Array(many.dropFirst(300))))
        let together = try statistics(many)
        #expect(merged.lateness == together.lateness)
        #expect(merged.ticks == 1_000)
        #expect(merged.longestStall?.length == .milliseconds(1))
        var none = try statistics([])
        none.merge(together)
        #expect(none == together)
    }

    @Test func theLongestStallOfOnTimeTicksIsTheLatestOfThem() throws {
        let (virtual, log) = (VirtualTime(), Log())
        virtual.service.collectsStatistics = true
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { $0.note($1) }
        for _ in 0..<3 {
            virtual.advance(by: .seconds(1))
            let stall = try #require(virtual.service.statistics?.longestStall)
            #expect(stall.length == .zero)
            #expect(stall.deadline == virtual.now)
        }
    }

    @Test func ofTwoEqualStallsTheOwnOneIsMerged() throws {
        let (virtual, log) = (VirtualTime(), Log())
        let timer = try PreciseTimer.schedule(.every(.seconds(10)), on: virtual.service, target: log) { $0.note($1) }
        var readings: [PreciseTimer.Statistics] = []
        for late in [3, 3, 4, 0] {
            timer.collectsStatistics = false
            timer.collectsStatistics = true
            virtual.inject(.wakeLate(by: .seconds(late)))
            virtual.advance(by: .seconds(10))
            virtual.advance(by: .seconds(late))
            readings.append(try #require(timer.statistics))
        }
        #expect(readings.map { $0.longestStall?.length } == [.seconds(3), .seconds(3), .seconds(4), .seconds(0)])
        for (own, other, longest) in [(0, 1, 0), (1, 0, 1), (0, 2, 2), (2, 0, 2), (3, 0, 0)] {
            var merged = readings[own]
            merged.merge(readings[other])
            #expect(merged.longestStall == readings[longest].longestStall, "\(own) and \(other)")
            #expect(merged.ticks == readings[own].ticks + readings[other].ticks)
        }
    }

    @Test func aReadingAfterCollectingBeganAnewIsNotSubtracted() throws {
        let (virtual, log) = (VirtualTime(), Log())
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { $0.note($1) }
        timer.collectsStatistics = true
        virtual.advance(by: .seconds(5))
        let earlier = try #require(timer.statistics)
        timer.collectsStatistics = false
        timer.collectsStatistics = true
        virtual.jump(by: .seconds(3))
        let later = try #require(timer.statistics)
        #expect(later.ticks == 1 && later.missed == 2)
        #expect(later.since(earlier) == later)
    }

    @Test func theTimeBetweenTwoReadingsIsTheirDifference() throws {
        let (virtual, log) = (VirtualTime(), Log())
        virtual.service.collectsStatistics = true
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { $0.note($1) }
        virtual.jump(by: .seconds(10))
        let first = try #require(virtual.service.statistics)
        virtual.jump(by: .seconds(5))
        let second = try #require(virtual.service.statistics)
        let between = second.since(first)
        #expect(between.ticks == 1 && between.missed == 4)
        #expect(between.lateness.total == .seconds(4))
        #expect(between.longestStall == nil, "the longest one was before")
        #expect(between.lateness.longest.map { (.seconds(4)...(.seconds(4.5))).contains($0) } == true)
        #expect(second.since(second).ticks == 0)
        #expect(second.since(second).lateness.percentile(0.5) == nil)
    }

    /// The statistics of ticks that are late by so many seconds.
    private func statistics(late lengths: [Int]) throws -> PreciseTimer.Statistics {
        let (virtual, log) = (VirtualTime(), Log())
        virtual.service.collectsStatistics = true
        try PreciseTimer.schedule(.every(.seconds(100)), on: virtual.service, target: log) { $0.note($1) }
        for (former, length) in zip([0] + lengths, lengths) { virtual.jump(by: .seconds(100 + length - former)) }
        return try #require(virtual.service.statistics)
    }

    @Test func theLongestOfTheTimeBetweenTwoReadingsIsNoLongerThanTheLongestOfAll() throws {
        let (first, both) = (try statistics(late: [10]), try statistics(late: [10, 10]))
        #expect(both.lateness.longest == .seconds(10))
        #expect(both.since(first).lateness.longest == .seconds(10))
        let longer = try statistics(late: [10, 17])
        #expect(longer.since(first).lateness.longest == longer.lateness.longest)
    }

    @Test func aReadingOfOtherTicksIsSubtractedToNothingAtMost() throws {
        let (few, many) = (try statistics(late: [0]), try statistics(late: [10, 10]))
        let rest = few.lateness.since(many.lateness)
        #expect(rest.count == 0 && rest.total == .zero)
        #expect(rest.buckets == few.lateness.buckets)
        let other = try statistics(late: [250])
        #expect(other.missed == 2)
        #expect(few.since(other).missed == 0)
        let same = few.lateness.since(try statistics(late: [0, 0]).lateness)
        #expect(same.buckets.isEmpty && same.count == 0)
    }

    @Test func theStallOfOnTimeTicksIsMergedIntoNothing() throws {
        var merged = try statistics(late: [])
        let other = try statistics(late: [0])
        #expect(merged.longestStall == nil)
        merged.merge(other)
        #expect(merged == other)
        #expect(merged.lateness.percentile(0) == .zero)
    }
}
