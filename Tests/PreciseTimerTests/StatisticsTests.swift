// What is counted of ticks and handlers, the values that come of it, and the handlers that were slow.
import Dispatch
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing
import TimerKernel

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

    @Test(arguments: DeliveryKind.allCases)
    func ticksAreCountedAndSlowHandlersFoundInEveryPlace(kind: DeliveryKind) async throws {
        let (service, place) = (try TimerService(.usual), Place(kind))
        service.collectsStatistics = true
        // Its first tick is far away until its statistics are collected.
        let timer = try place.schedule(.every(.seconds(3_600)), on: service, target: log) { [log] tick in
            log.note(tick)
            pause(.milliseconds(3))
        }
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
        let slow = try #require(service.slowHandlers.first)
        #expect([slow.period.description, slow.file] == ["0.002 seconds", "TestSupport/Place.swift"])
        #expect(slow.longest >= .milliseconds(3))
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
}

/// Handlers that run for longer than their period or, inline and beside other timers, 5 ms. What a debug build says of
/// them is in `HintTests`, and `StatisticsTests` has every place.
@Suite(.waits("a handler holds up the alarm's thread"), .timeLimit(.minutes(60))) struct SlowHandlerTests {
    private let virtual = VirtualTime()
    private let log = Log()

    init() { virtual.service.collectsStatistics = true }

    /// The slow handlers of a service.
    private func found(on service: TimerService) -> [String] {
        service.slowHandlers.map { "\($0.label ?? "-"): \($0.count) over \($0.period.text), up to \($0.longest.text)" }
    }

    /// Inline timers of one service, with the milliseconds that each call takes (the last number is that of all later
    /// calls), and the slow handlers among them after some milliseconds.
    struct Scene: Sendable {
        let timers: [(label: String, schedule: PreciseTimer.Schedule, calls: [Int])]
        let time: Int
        let found: String?

        init(_ timers: [(String, PreciseTimer.Schedule, [Int])], for time: Int, found: String? = nil) {
            (self.timers, self.time, self.found) = (timers, time, found)
        }
    }

    private static func every(_ milliseconds: Int, after delay: Int? = nil) -> PreciseTimer.Schedule {
        .every(.milliseconds(milliseconds), after: delay.map(Duration.milliseconds))
    }

    /// A timer that does not tick.
    private static let rest = ("rest", PreciseTimer.Schedule.onDemand, [0])

    private static let scenes = [
        // The longest call counts.
        Scene([("a", every(1_000), [1_500, 3_000, 1_500])], for: 10_000, found: "a: 6 over 1 s, up to 3 s"),
        // Exactly a period is not too long.
        Scene([("a", every(4), [4, 4, 5, 0])], for: 16, found: "a: 1 over 4 ms, up to 5 ms"),
        // The period of a rate is that of one tick.
        Scene([("a", .rate(4, per: .seconds(1)), [251, 0])], for: 1_000, found: "a: 1 over 250 ms, up to 251 ms"),
        // Inline, 5 ms are not too long, and more are, whatever the schedule is.
        Scene(
            [("a", .once(after: .seconds(1)), [5]), ("b", .fixedDelay(.seconds(1)), [5]), ("c", every(1_000), [5])],
            for: 1_100
        ),
        Scene([("a", .once(after: .seconds(1)), [6]), rest], for: 2_000, found: "a: 1 over 5 ms, up to 6 ms"),
        Scene([("a", .fixedDelay(.seconds(1)), [1_000]), rest], for: 1_500, found: "a: 1 over 5 ms, up to 1 s"),
        Scene([("a", every(1_000), [800]), rest], for: 1_900, found: "a: 1 over 5 ms, up to 800 ms"),
        // A handler that no other timer waits for has its period.
        Scene([("a", every(1_000), [800])], for: 1_900), Scene([("a", .once(after: .seconds(1)), [6])], for: 2_000),
        // A timer's last call is watched, too.
        Scene([("a", .every(.seconds(1), count: 1), [2_000])], for: 10_000, found: "a: 1 over 1 s, up to 2 s"),
        // The time of one handler is not charged to the next.
        Scene(
            [("quick", every(1_000), [0]), ("slow", every(1_000), [2_000, 0]), ("late", every(1_000), [0])],
            for: 10_000,
            found: "slow: 1 over 1 s, up to 2 s"
        ),
        // Those that wait for another handler are not slow.
        Scene(
            [("starved", every(10), [0]), ("starved too", every(10), [0]), ("greedy", every(100), [80])],
            for: 1_000,
            found: "greedy: 10 over 5 ms, up to 80 ms"
        ),
    ]

    @Test(arguments: scenes) func aHandlerIsNamedIfItRanForLongerThanItsPeriodOrKeepsOthersWaiting(scene: Scene) throws
    {
        for (label, schedule, calls) in scene.timers {
            let count = Count()
            try PreciseTimer.schedule(schedule, on: virtual.service, label: label, target: log) { [virtual] _, _ in
                virtual.advance(by: .milliseconds(calls[min(count.add(1), calls.count) - 1]))
            }
        }
        virtual.advance(by: .milliseconds(scene.time))
        #expect(found(on: virtual.service).first == scene.found && virtual.service.slowHandlers.count < 2)
    }

    @Test func aCallSiteIsItsFileItsLineAndItsLabelAndHasThePeriodOfItsLongestCall() throws {
        for (file, line, label, period) in [
            ("A", 1, nil, 1), ("A", 2, nil, 1), ("A", 1, "b", 1), ("B", 1, nil, 1), ("A", 1, nil, 9), ("A", 1, nil, 2),
        ] as [(StaticString, UInt, String?, Int)] {
            try PreciseTimer.schedule(
                .every(.seconds(period), count: 1),
                on: virtual.service,
                label: label,
                file: file,
                line: line,
                target: log
            ) { [virtual] _, _ in virtual.advance(by: .seconds(2 * period)) }
            virtual.advance(by: .seconds(60))
        }
        let rest = "): 1 call longer than 1 s, the longest 2 s"
        let texts =
            ["(A:1): 3 calls longer than 9 s, the longest 18 s"] + ["(A:2", "\"b\" (A:1", "(B:1"].map { $0 + rest }
        #expect(virtual.service.slowHandlers.map(\.description) == texts)
    }

    @Test func oneCallSiteIsNamedOnceAndOnlyTheFirstAreNamed() throws {
        for number in 0..<80 {
            try PreciseTimer.schedule(.every(.seconds(60)), on: virtual.service, label: "\(number / 2)", target: log) {
                [virtual] _, _ in virtual.advance(by: .seconds(61))
            }
        }
        virtual.advance(by: .seconds(60))
        #expect(found(on: virtual.service) == (0..<16).map { "\($0): 2 over 60 s, up to 61 s" })
    }

    @Test func aHandlerOnAQueueStarvesNoOtherTimer() throws {
        let (alarm, queue) = (ManualAlarm(), DispatchQueue(label: "test.slow"))
        let (service, place) = (try TimerService(alarm: alarm), PreciseTimer.Delivery.queue(queue))
        service.collectsStatistics = true
        try PreciseTimer.schedule(.every(.milliseconds(100)), on: service, deliver: place, target: log) { _, _ in
            alarm.move(by: .milliseconds(80))
        }
        try PreciseTimer.schedule(.onDemand, on: service, target: log) { $0.note($1) }
        alarm.move(by: .milliseconds(100))
        alarm.fire()
        queue.sync {}
        #expect(service.statistics?.handlerTime.longest == .milliseconds(80) && service.slowHandlers.isEmpty)
    }

    /// Sending takes time, which must not be charged to the handler before it.
    @Test func theTimeOfAHandlerEndsBeforeTheNextTickIsSent() throws {
        let (alarm, log, queue) = (ManualAlarm(), Log(), SuspendedQueue())
        let service = try TimerService(alarm: alarm)
        service.collectsStatistics = true
        for delivery in [PreciseTimer.Delivery.inline, .queue(queue.queue)] {
            try PreciseTimer.schedule(.every(.seconds(1)), on: service, deliver: delivery, target: log) { $0.note($1) }
        }
        alarm.move(by: .seconds(1))
        alarm.moveWithEachReading(by: .microseconds(1))
        alarm.fire()
        #expect(service.statistics?.handlerTime.total == .microseconds(1), "one reading after the call")
        service.shutdown()
        queue.letRun()
        #expect(log.count == 1)
    }

    /// The service has no clock any more, and its next run tells nothing of the time before it.
    @Test func onlyTheTimeOfAHandlerThatShutsItsServiceDownIsNotCounted() throws {
        let (alarm, log) = (ManualAlarm(), Log())
        let service = TimerService(startedOnUse: { alarm })
        service.collectsStatistics = true
        let schedule = PreciseTimer.Schedule.every(.milliseconds(1))
        let first = try PreciseTimer.schedule(schedule, on: service, label: "first", target: log) { _, _ in
            alarm.move(by: .milliseconds(5))
        }
        try PreciseTimer.schedule(schedule, on: service, label: "last", target: log) { [weak service] log, tick in
            log.note(tick)
            service?.shutdown()
            alarm.move(by: .seconds(10))
        }
        alarm.move(by: .milliseconds(1))
        alarm.fire()
        #expect(first.state == .ended(.serviceShutDown))
        try PreciseTimer.schedule(schedule, on: service, target: log) { $0.note($1) }
        alarm.move(by: .milliseconds(1))
        alarm.fire()
        #expect(log.count == 2)
        #expect(found(on: service) == ["first: 1 over 1 ms, up to 5 ms"])
    }
}
