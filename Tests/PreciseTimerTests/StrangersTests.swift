import Foundation
import PreciseTimer
import PreciseTimerFoundation
import PreciseTimerTestKit
import TestSupport
import Testing

/// Situations out of public reports of other timers. Each names a report, and what went wrong there.
struct StrangersTests {
    typealias Schedule = PreciseTimer.Schedule

    private let scene = Scene()

    // MARK: Numbers

    private static let years = [10, 260, 510]

    /// tokio #5536: a timer wheel that is old enough no longer finds its deadlines.
    @Test(arguments: years, [Schedule.once(after: .milliseconds(3)), .rate(1, per: .milliseconds(3), count: 1)])
    func aServiceThatHasLivedForCenturiesIsExact(years: Int, schedule: Schedule) throws {
        let (virtual, log, old) = (VirtualTime(), Log(), Duration.seconds(years * 31_557_600))
        let start = virtual.now
        virtual.jump(by: old)
        try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { $0.note($1) }
        virtual.advance(by: .nanoseconds(2_999_999))
        #expect(log.count == 0)
        virtual.advance(by: .nanoseconds(1))
        #expect(log.ticks.map { start.duration(to: $0.deadline) } == [old + .milliseconds(3)])
        #expect(virtual.pendingCount == 0)
    }

    /// node-cron PR #40: a delay of 2^31 ms wraps around, and the timer fires at once and without end.
    @Test(.waits("a short timer ticks meanwhile"), arguments: TimerService.Backend.available)
    func delaysBeyondTheWidthOfANumberDoNotFireAtOnce(backend: TimerService.Backend) throws {
        let (service, short, long) = (try TimerService(backend), Log(), Log())
        for bits in [31, 32, 33, 36, 42] {
            for rest in [-1, 0, 1] {
                let delay = Duration.milliseconds(1 << bits + rest)
                try PreciseTimer.schedule(.once(after: delay), on: service, target: long) { $0.note($1) }
            }
        }
        try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: short) { $0.note($1) }
        #expect(eventually { short.count >= 10 })
        #expect(long.count == 0 && service.pendingCount == 16)
        service.shutdown()
    }

    /// swiftlang/swift #80791: a sleep of the longest duration returns at once.
    @Test(
        .waits("a task sleeps"),
        arguments: [Duration.seconds(Int64.max), .nanoseconds(Int64.max), .milliseconds(Int64.max)]
    )
    func aSleepOfTheLongestDurationLastsUntilItsTaskIsCancelled(length: Duration) async throws {
        let (virtual, isOver) = (scene.virtual, Gate())
        let sleeper = Task {
            defer { isOver.open() }
            try await virtual.clock.sleep(for: length)
        }
        #expect(await soon { virtual.pendingCount == 1 })
        virtual.jump(by: .seconds(200 * 31_557_600))
        #expect(virtual.pendingCount == 1 && !isOver.isPassable)
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
        #expect(virtual.pendingCount == 0)
    }

    // MARK: Deadlines

    /// APScheduler #5 and #463: a job whose start is past runs once for each run that it missed, or never.
    /// Here a thousand milliseconds have passed since the first of the deadlines.
    @Test(
        arguments: [
            (.skip, nil, "0@-1000 late 1000 missed 142, 143@1, 144@8"),
            (.skip, 3, "0@-1000 late 1000 missed 142, 143@1, 144@8"),
            (.catchUp(limit: 3), nil, "0@-1000 late 1000, 1@-993 late 993, 2@-986 late 986 missed 140, 143@1, 144@8"),
            (.delay, nil, "0@-1000 late 1000 missed 142, 143@7"),
        ] as [(PreciseTimer.MissedTickPolicy, Int?, String)]
    )
    func aStartInThePastFollowsThePolicy(policy: PreciseTimer.MissedTickPolicy, count: Int?, ticks: String) throws {
        try scene.timer(.every(.milliseconds(7), at: TimerInstant(nanoseconds: 0), count: count), missed: policy)
        scene.advance(8)
        #expect(scene.ticks == ticks)
        #expect(scene.virtual.pendingCount == (count == nil ? 1 : 0))
    }

    /// libuv help #55: a timer without a delay is called twice in its first turn.
    @Test func aTimerWithoutADelayTicksOnceInItsFirstTurn() throws {
        try scene.timer(.every(.seconds(1), after: .zero))
        for time in [0, 0, 999] { scene.advance(time) }
        #expect(scene.ticks == "0@0")
    }

    /// libuv #2901: of a handler that takes as long as its period, every second call comes a period late.
    @Test func aHandlerThatTakesItsPeriodMissesNothing() throws {
        let (scene, timer) = (scene, Box<PreciseTimer>())
        timer.value = try scene.handle(.every(.milliseconds(20))) { timer, count in
            scene.advance(20)
            if count == 50 { timer.cancel() }
        }
        scene.advance(1_000)
        #expect(scene.ticks == (0..<50).map { "\($0)@\(20 * ($0 + 1))" }.joined(separator: ", "))
        timer.value = nil
    }

    /// golang/go #37196: a timer that was stopped or set anew delivers an old value.
    @Test(
        arguments: [
            (
                "set anew", .every(.milliseconds(10)),
                [.jump(35), .reschedule(.every(.milliseconds(20))), .advance(20)],
                "0@10 late 25 missed 2, 0@55"
            ),
            ("begun anew", .every(.milliseconds(10)), [.advance(9), .restart, .advance(9), .advance(1)], "0@19"),
            (
                "paused when due", .every(.milliseconds(10)),
                [
                    .advance(9), .pause, .jump(1), .reschedule(.every(.milliseconds(3))),
                    .resume, .advance(3),
                ], "0@13"
            ),
        ] as [Play]
    )
    func noOldDeadlineTicks(play: Play) throws { try expectTicks(of: play) }

    /// libevent #1727: the removal of the earliest timer leaves wake-ups behind.
    @Test func shortTimersThatAreCancelledLeaveOneWakeUpAtMost() throws {
        let (alarm, log) = (ManualAlarm(), Log())
        let service = try TimerService(alarm: alarm)
        let far = try PreciseTimer.schedule(.once(after: .seconds(60)), on: service, target: log) { $0.note($1) }
        for _ in 0..<50 {
            let short = try PreciseTimer.schedule(.once(after: .milliseconds(1)), on: service, target: log) {
                $0.note($1)
            }
            short.cancel()
        }
        alarm.move(by: .seconds(1))
        alarm.fire()
        let settings = alarm.settings
        #expect(settings.last == far.nextDeadline)
        alarm.fire()
        #expect(alarm.settings.last == far.nextDeadline && log.count == 0)
    }

    /// libuv #4245 and libevent #1261: a handler that sets its own timer to zero starves all the others.
    @Test(.works("a timer is always due"), arguments: TimerService.Backend.available)
    func aHandlerThatReschedulesItselfToNowStarvesNobody(backend: TimerService.Backend) throws {
        let (service, log, count) = (try TimerService(backend), Log(), Count())
        let busy = try PreciseTimer.schedule(.once(after: .zero), on: service) { timer, _ in
            count.add(1)
            try? timer.reschedule(.once(after: .zero))
        }
        try PreciseTimer.schedule(.every(.milliseconds(5)), on: service, target: log) { $0.note($1) }
        #expect(eventually { log.count >= 10 })
        #expect(busy.cancel() && count.value > 10)
        #expect(log.ticks.flaw(every: .milliseconds(5)) == nil)
        service.shutdown()
    }

    /// asyncio and libuv: equal deadlines lose their order, here if others are taken from between them.
    @Test func fiveThousandEqualDeadlinesKeepTheirOrder() throws {
        let (numbers, bag) = (Notes<Int>(), TimerBag())
        for number in 0..<5_000 {
            try PreciseTimer.schedule(.once(after: .seconds(1)), on: scene.virtual.service) { numbers.append(number) }
                .store(in: bag, named: number)
        }
        for number in 0..<5_000 where number % 3 == 0 { bag.cancel(number) }
        scene.virtual.advance(by: .seconds(1))
        #expect(numbers.all == (0..<5_000).filter { $0 % 3 != 0 })
    }

    /// asio #878: the handler of one timer cannot take back its siblings of the same wake-up, or loses others.
    @Test func theFirstOfSixEqualDeadlinesMayChangeTheOthers() throws {
        let (scene, numbers, timers) = (scene, Notes<Int>(), Box<[PreciseTimer]>())
        timers.value = try (0..<6)
            .map { number in
                try scene.handle(.once(after: .milliseconds(10))) { _, _ in
                    numbers.append(number)
                    guard number == 0, let others = timers.value else { return }
                    others[1].cancel()
                    others[2].pause(keeping: .grid)
                    try? others[3].reschedule(.once(after: .milliseconds(5)))
                    others[4].fire()
                }
            }
        scene.advance(10)
        let first = numbers.all
        scene.advance(5)
        timers.value?[2].resume()
        scene.advance(0)
        #expect([first, numbers.all] == [[0, 4, 5, 4], [0, 4, 5, 4, 3, 2]])
        #expect(scene.virtual.pendingCount == 0)
        timers.value = nil
    }

    // MARK: Dates

    /// A calendar, when it is asked, and its next deadline.
    private static let dates: [(Schedule, asked: String, next: String)] = [
        // cronie #218: a weekly job near a change of daylight saving time comes a week late.
        (.weekly(on: .sunday, at: .init(hour: 12), in: berlin), "2026-03-26T10:00:00Z", "2026-03-29T10:00:00Z"),
        (.weekly(on: .sunday, at: .init(hour: 12), in: berlin), "2026-10-22T10:00:00Z", "2026-10-25T11:00:00Z"),
        // cron-parser PR #115 and ccronexpr #32: dates that few years or months have are missed, or never found.
        (.calendar(DateComponents(month: 2, day: 29), in: .gmt), "2097-01-01T00:00:00Z", "2104-02-29T00:00:00Z"),
        (.calendar(DateComponents(day: 31), in: .gmt), "2026-04-01T00:00:00Z", "2026-05-31T00:00:00Z"),
        (
            .calendar(DateComponents(hour: 9, weekday: 2, weekdayOrdinal: 5), in: .gmt), "2026-04-01T00:00:00Z",
            "2026-06-29T09:00:00Z"
        ),
    ]

    private static let berlin = TimeZone(identifier: "Europe/Berlin")

    @Test(arguments: dates) func theNextDateIsTheFirstThatMatches(schedule: Schedule, asked: String, next: String)
        throws
    {
        let (virtual, style) = (VirtualTime(clock: .wall), Date.ISO8601FormatStyle())
        virtual.jump(by: virtual.now.duration(to: TimerInstant(try style.parse(asked))))
        let timer = try PreciseTimer.schedule(schedule, on: virtual.service, target: scene.log) { $0.note($1) }
        #expect(try timer.nextDeadline == TimerInstant(style.parse(next)))
    }

    /// node-red cron-plus #110 and croniter #131: a date that never comes is searched for without end.
    /// rufus-scheduler PR #46: the last day or the last Friday of a month is taken for another one.
    @Test(
        arguments: [
            DateComponents(month: 4, day: 31), DateComponents(day: 0), DateComponents(day: -1),
            DateComponents(weekday: 6, weekdayOrdinal: -1), DateComponents(month: 2, day: 30, hour: 1),
        ]
    )
    func aDateThatNeverComesIsRefused(date: DateComponents) {
        let virtual = VirtualTime(clock: .wall)
        let error = #expect(throws: TimerError.self) {
            try PreciseTimer.schedule(.calendar(date), on: virtual.service, target: scene.log) { $0.note($1) }
        }
        #expect(error?.code == .invalidSchedule && virtual.pendingCount == 0)
    }

    // MARK: Endings

    /// Repeat #31 and AudioStreaming PR #138: a timer that is released while it is paused crashes.
    @Test(.waits("real alarms fire"), arguments: TimerService.Backend.available, [true, false])
    func aTimerMayBeReleasedPausedAndInItsHandler(backend: TimerService.Backend, isPaused: Bool) throws {
        let (service, reasons, own) = (try TimerService(backend), Notes<PreciseTimer.EndReason>(), Box<PreciseTimer>())
        let count = Count()
        own.value = try PreciseTimer.schedule(
            .every(.milliseconds(1)),
            on: service,
            paused: true,
            onEnd: reasons.append
        ) { _, _ in
            count.add(1)
            own.value = nil
        }
        if isPaused {
            #expect(own.value?.fire() == true)
            own.value = nil
        } else {
            own.value?.resume()
        }
        #expect(eventually { reasons.all == [.handleReleased] })
        #expect(count.value == (isPaused ? 0 : 1) && service.pendingCount == 0)
    }

    /// asio #979: a timer that outlives its loop crashes.
    @Test func aTimerMayBeUsedAfterItsServiceIsGone() async throws {
        var service: TimerService? = try TimerService(alarm: ManualAlarm())
        weak let gone = service
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: try #require(service), target: scene.log) {
            $0.note($1)
        }
        service?.shutdown()
        service = nil
        #expect(gone == nil)
        let accepted = [timer.cancel(), timer.pause(), timer.resume(), timer.restart(), timer.fire()]
        #expect(accepted.allSatisfy { !$0 })
        #expect(try await !timer.finish())
        #expect(await !timer.cancelAndWait())
        #expect(timer.nextDeadline == nil && timer.remaining == nil && timer.runningSince == nil)
        #expect(timer.state == .ended(.serviceShutDown))
        let error = #expect(throws: TimerError.self) { try timer.reschedule(.onDemand) }
        #expect(error?.code == .timerEnded)
    }

    /// swift-nio PR #3416 and #514: an owner that is released, and a timer that ends, lead back into the scheduler.
    @Test func timersMayBeMadeInDeinitAndInOnEnd() throws {
        let scene = scene
        let more: @Sendable () -> Void = { _ = try? scene.timer(.once(after: .milliseconds(5))) }
        var target: Thing? = Thing(onDeinit: more)
        try PreciseTimer.schedule(
            .every(.milliseconds(10)),
            on: scene.virtual.service,
            target: try #require(target),
            onEnd: { _ in more() },
            handler: { _, _ in }
        )
        scene.advance(1)
        target = nil
        scene.advance(20)
        #expect(scene.ticks == "0@6, 0@15")
        #expect(scene.virtual.pendingCount == 0)
    }

    /// stream-chat-swift PR #2938 and Tealium #100: calls from several threads suspend and resume a timer out of
    /// balance.
    @Test(.works("threads race"), arguments: TimerService.Backend.available)
    func threadsMayPauseResumeFireAndReleaseOneTimer(backend: TimerService.Backend) throws {
        let (service, ends) = (try TimerService(backend), Count())
        for _ in 0..<20 {
            let own = Box<PreciseTimer>()
            own.value = try PreciseTimer.schedule(
                .every(.microseconds(50)),
                on: service,
                onEnd: { _ in ends.add(1) },
                handler: { _, _ in }
            )
            try onThreads(8) { number in
                for round in 0..<20 {
                    switch number % 4 {
                    case 0: _ = own.value?.pause()
                    case 1: own.value?.resume()
                    case 2: own.value?.fire()
                    default: if round == 10 { own.value = nil }
                    }
                }
            }
        }
        #expect(eventually { ends.value == 20 && service.pendingCount == 0 })
    }

    /// swift-async-algorithms: the copies of an iterator disagree, and a call after the end does not return.
    @Test(.waits("a task takes ticks")) func copiesOfAnIteratorShareItsTicksAndItsEnd() async throws {
        let schedule = Schedule.every(.seconds(1), count: 2)
        var one = PreciseTimer.ticks(schedule, on: scene.virtual.service).makeAsyncIterator()
        var other = one
        #expect(scene.virtual.pendingCount == 1)
        var seen: [Int?] = []
        for _ in 0..<2 {
            scene.advanceWithoutSettling(1_000)
            seen.append(try await seen.isEmpty ? one.next()?.index : other.next()?.index)
        }
        for _ in 0..<2 { seen += [try await one.next()?.index, try await other.next()?.index] }
        #expect(seen == [0, 1, nil, nil, nil, nil])
    }
}

extension Scene {
    fileprivate func advanceWithoutSettling(_ time: Int) { virtual.advanceWithoutSettling(by: .milliseconds(time)) }
}
