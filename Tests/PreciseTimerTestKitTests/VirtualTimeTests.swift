import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Virtual time moves only when a test moves it, and delivers all due ticks.
struct VirtualTimeTests {
    private let virtual = VirtualTime()
    private let log = Log()

    @Test func nothingHappensUntilTimeMoves() throws {
        try schedule(.once(after: .zero))
        #expect([log.count, virtual.pendingCount] == [0, 1])
        virtual.advance(by: .zero)
        #expect([log.count, virtual.pendingCount] == [1, 0])
    }

    @Test func advancingStopsAtEveryDeadlineAndMovesTheClockExactly() throws {
        let start = virtual.now
        try schedule(.every(.milliseconds(10)))
        virtual.advance(by: .milliseconds(35) + .nanoseconds(12))
        #expect(log.ticks.map { [$0.index, $0.missed] } == [[0, 0], [1, 0], [2, 0]])
        #expect(log.ticks.map(\.lateness) == [.zero, .zero, .zero])
        #expect(virtual.now == start.advanced(by: .nanoseconds(35_000_012)) && virtual.service.now == virtual.now)
    }

    @Test func aJumpDeliversOnArrivalOnly() throws {
        try schedule(.every(.milliseconds(10)))
        virtual.jump(by: .milliseconds(35))
        #expect(log.ticks.map { [$0.index, $0.missed] } == [[0, 2]])
        #expect(log.ticks.map(\.lateness) == [.milliseconds(25)])
    }

    @Test func aTimerScheduledByAHandlerTicksWithinTheSameAdvance() throws {
        let (service, log) = (virtual.service, log)
        try PreciseTimer.schedule(.once(after: .milliseconds(1)), on: service, target: log) { log, tick in
            log.note(tick)
            _ = try? PreciseTimer.schedule(.once(after: .milliseconds(1)), on: service, target: log) { $0.note($1) }
        }
        virtual.advance(by: .milliseconds(2))
        #expect([log.count, virtual.pendingCount] == [2, 0])
    }

    /// A search at the end of the first step is the last one before.
    @Test(arguments: ["jump", "advance", "await advance"])
    func aReleasedTargetIsSearchedForASecondAfterTheLastSearch(way: String) async throws {
        var (target, counts): (Thing?, [Int]) = (Thing(), [])
        try PreciseTimer.schedule(.onDemand, on: virtual.service, target: try #require(target)) { _, _ in }
        for time in [2_500, 999, 1] {
            let time = Duration.milliseconds(time)
            switch way {
            case "jump": virtual.jump(by: time)
            case "advance": virtual.advanceWithoutSettling(by: time)
            default: await virtual.advance(by: time)
            }
            counts.append(virtual.pendingCount)
            target = nil
        }
        #expect(counts == [1, 1, 0])
    }

    private func schedule(_ schedule: PreciseTimer.Schedule) throws {
        try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { $0.note($1) }
    }
}

/// Virtual time begins at an instant that a test chooses.
struct VirtualStartTests {
    private let log = Log()

    @Test(arguments: TimerClock.allCases) func timeBeginsAtAChosenInstantOfAnyClock(clock: TimerClock) throws {
        let start = TimerInstant(nanoseconds: 1_774_742_400_000_000_000, clock: clock)
        for virtual in [VirtualTime(at: start), VirtualTime(clock: clock, at: start)] {
            let log = TickLog(virtual)
            #expect([virtual.now, virtual.service.now, virtual.clock.now] == [start, start, start])
            try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { $0.note($1) }
            virtual.advance(by: .seconds(2))
            #expect(log.deadlines == [.seconds(1), .seconds(2)])
            #expect("\(virtual)".hasPrefix("virtual time 2 s"))
        }
    }

    @Test func timeMayBeginAtTheOriginOfItsClock() throws {
        let virtual = VirtualTime(at: .origin(on: .wall))
        try PreciseTimer.schedule(.once(after: .zero), on: virtual.service, target: log) { $0.note($1) }
        virtual.inject(.stepClock(by: .seconds(-60)))
        virtual.advance(by: .zero)
        #expect(log.ticks.map(\.deadline) == [.origin(on: .wall)])
        #expect(virtual.now == .origin(on: .wall), "no clock shows less")
    }

    @Test func theSameSeedScattersTimersInTheSameWayFromAnyStart() throws {
        let starts: [TimerInstant] = [.origin(on: .wall), TimerInstant(nanoseconds: 5_000_000_000, clock: .wall)]
        let spread = PreciseTimer.Schedule.every(.seconds(60), spread: .seconds(60))
        let phases = try starts.map { start in
            let virtual = VirtualTime(at: start, seed: 7)
            let timer = try PreciseTimer.schedule(spread, on: virtual.service, target: log) { $0.note($1) }
            return timer.nextDeadline.map { start.duration(to: $0) }
        }
        #expect(phases[0] == phases[1])
    }

    @Test func aStartThatNeverComesOrOfAnotherClockStopsTheProcess() async {
        let never = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = VirtualTime(at: .never(on: .wall))
        }
        let other = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = VirtualTime(clock: .wall, at: TimerClock.suspending.now)
        }
        // A release build stops without words.
        #if DEBUG
        let texts = [never, other].map { String(decoding: $0?.standardErrorContent ?? [], as: UTF8.self) }
        #expect(texts[0].contains("at an instant that never comes"), "\(texts[0])")
        #expect(texts[1].contains("at an instant of another clock"), "\(texts[1])")
        #else
        #expect(never != nil && other != nil)
        #endif
    }
}

/// A virtual alarm that repeats by itself.
struct VirtualRepetitionTests {
    private let alarm = VirtualAlarm()
    private let firings = Notes<TimerInstant>()
    private let start: TimerInstant

    init() throws {
        start = alarm.now
        let (alarm, firings) = (alarm, firings)
        alarm.start(onFire: { firings.append(alarm.now) }, onFailure: { _ in })
    }

    /// The times of its firings, in milliseconds from the start.
    private var times: [Int64] { firings.all.map { start.duration(to: $0).nanosecondsRoundedUp / 1_000_000 } }

    private func setEvery(_ milliseconds: UInt64, first: Int) {
        #expect(alarm.set(start.advanced(by: .milliseconds(first)), every: milliseconds * 1_000_000))
    }

    @Test(arguments: [
        (VirtualTime.Fault.stall(.zero), [15, 25, 35]), (.stall(.milliseconds(28)), [28, 35]),
        (.wakeLate(by: .milliseconds(3)), [18, 25, 35]), (.wakeEarly(by: .milliseconds(4)), [11, 15, 25, 35]),
    ])
    func aFiringAtAnotherTimeDoesNotMoveTheGrid(fault: VirtualTime.Fault, expected: [Int64]) {
        setEvery(10, first: 15)
        alarm.inject(fault, after: .zero)
        alarm.advance(by: .milliseconds(35))
        #expect(times == expected)
    }

    @Test func aPastFirstDeadlineFiresAtOnceAndKeepsItsGrid() {
        alarm.advance(by: .milliseconds(24))
        setEvery(10, first: 0)
        alarm.advance(by: .milliseconds(10))
        #expect(times == [24, 30])
    }

    /// A `deinit` may use the alarm, so its lock is not held.
    @Test func aStoppedAlarmLetsGoOfWhatItCalls() {
        let (alarm, released, ends) = (VirtualAlarm(), Count(), Count())
        let captured = { Thing { released.add(alarm.now.isNever ? 0 : 1) } }
        alarm.start(onFire: { [captured = captured()] in withExtendedLifetime(captured) {} }, onFailure: { _ in })
        _ = alarm.watchClock(
            { [captured = captured()] _ in withExtendedLifetime(captured) {} },
            onEnd: { ends.add(1) }
        )
        #expect([released.value, ends.value] == [0, 0])
        alarm.stop()
        #expect([released.value, ends.value] == [2, 1])
    }

    @Test func aLaterSettingReplacesTheRepetition() {
        setEvery(10, first: 10)
        alarm.advance(by: .milliseconds(15))
        alarm.set(start.advanced(by: .milliseconds(17)))
        alarm.advance(by: .milliseconds(100))
        #expect(times == [10, 17])
        setEvery(10, first: 120)
        alarm.advance(by: .milliseconds(10))
        alarm.set(nil)
        alarm.advance(by: .milliseconds(100))
        #expect(times == [10, 17, 120])
    }

    @Test func aSettingFromInsideAFiringReplacesTheRepetition() {
        let (alarm, times) = (VirtualAlarm(), Notes<Int64>())
        let start = alarm.now
        alarm.start(
            onFire: {
                times.append(start.duration(to: alarm.now).nanosecondsRoundedUp / 1_000_000)
                switch times.all.count {
                case 2: _ = alarm.set(start.advanced(by: .milliseconds(25)), every: 5_000_000)
                case 4: alarm.set(start.advanced(by: .milliseconds(50)))
                default: break
                }
            },
            onFailure: { _ in }
        )
        _ = alarm.set(start.advanced(by: .milliseconds(10)), every: 10_000_000)
        alarm.advance(by: .milliseconds(100))
        #expect(times.all == [10, 20, 25, 30, 50])
    }
}

/// A handler that moves time keeps no deadline from the call that it came in.
struct MovedTimeTests {
    private let virtual: VirtualTime
    private let log: TickLog

    init() {
        virtual = VirtualTime()
        log = TickLog(virtual)
    }

    /// The calls that move time: a test's own, each with one in a handler.
    private static let ways = ["jump", "advance", "await advance"]

    private func move(_ way: String, by duration: Duration) async {
        switch way {
        case "jump": virtual.jump(by: duration)
        case "advance": virtual.advanceWithoutSettling(by: duration)
        default: await virtual.advance(by: duration)
        }
    }

    /// The inner call takes ten seconds.
    private func moveInside(_ way: String) {
        if way == "jump" { virtual.jump(by: .seconds(10)) } else { virtual.advanceWithoutSettling(by: .seconds(10)) }
    }

    @Test(arguments: ways, ["jump", "advance"])
    func aDeadlineBeforeTheEndComesInTheSameCall(way: String, inner: String) async throws {
        let (tests, log) = (self, log)
        try PreciseTimer.schedule(.once(after: .seconds(1)), on: virtual.service, target: log) { _, tick in
            tests.moveInside(inner)
            // It has passed, and waits for the next round.
            let late = PreciseTimer.Schedule.once(at: tick.deadline.advanced(by: .seconds(1)))
            _ = try? PreciseTimer.schedule(late, on: tests.virtual.service, target: log) { $0.note($1) }
        }
        try PreciseTimer.schedule(.once(after: .seconds(2)), on: virtual.service, target: log) { $0.note($1) }
        await move(way, by: .seconds(3))
        #expect(log.deadlines == [.seconds(2), .seconds(2)] && virtual.pendingCount == 0, "\(virtual)")
    }

    @Test(arguments: ways) func lateTicksThatComeOneByOneComeInTheSameCall(way: String) async throws {
        let (tests, log) = (self, log)
        try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            missedTicks: .catchUp(limit: 20),
            target: log
        ) { log, tick in
            if tick.index == 0 { tests.moveInside("jump") }
            log.note(tick)
        }
        await move(way, by: .seconds(3))
        #expect(log.deadlines.prefix(3) == [.seconds(1), .seconds(2), .seconds(3)], "\(virtual)")
    }

    /// Otherwise a handler that takes longer than the period would hold the call for ever.
    @Test(arguments: ways) func aDeadlineAfterTheEndWaitsForTheNextCall(way: String) async throws {
        let tests = self
        try PreciseTimer.schedule(.every(.seconds(3)), on: virtual.service, target: log) { log, tick in
            log.note(tick)
            tests.moveInside("advance")
        }
        await move(way, by: .seconds(3))
        #expect(log.deadlines == [.seconds(3)])
        await move(way, by: .zero)
        #expect(log.deadlines == [.seconds(3), .seconds(6)] && log.missed == [0, 2])
    }

    /// The stall makes the firing late, and the handler moves time past the end.
    @Test func aFaultBeforeTheEndHappensInTheSameCall() throws {
        let tests = self
        for seconds in [1, 3] {
            try PreciseTimer.schedule(.once(after: .seconds(seconds)), on: virtual.service, target: log) { log, tick in
                log.note(tick)
                if tick.lateness == .zero { tests.moveInside("jump") }
            }
        }
        virtual.inject(.stall(.seconds(5)), after: .seconds(2))
        virtual.advance(by: .seconds(4))
        #expect(log.deadlines == [.seconds(1), .seconds(3)])
        #expect(log.ticks.map(\.lateness) == [.zero, .seconds(13)])
    }
}
