import Dispatch
import Foundation
import PreciseTimer
import PreciseTimerFoundation
import PreciseTimerTestKit
import TestSupport
import Testing

/// Timers whose deadlines are computed one at a time: what they miss, and what control and the clock do to them.
struct CalendarTests {
    typealias Schedule = PreciseTimer.Schedule

    private let virtual = VirtualTime(clock: .wall)
    private let log = Log()
    /// Virtual time begins with the year 2026, at midnight.
    private let daily = Schedule.daily(at: .init(hour: 2, minute: 30), in: .gmt)

    private func deadline(_ text: String) throws -> TimerInstant {
        TimerInstant(try Date("\(text):00Z", strategy: .iso8601))
    }

    private func texts() -> [String] { log.ticks.map { $0.deadline.text(in: .gmt) } }

    // MARK: Late ticks

    @Test func deadlinesThatPassInAStallAreCounted() throws {
        let timer = try PreciseTimer.schedule(daily, on: virtual.service, target: log) { $0.note($1) }
        timer.collectsStatistics = true
        virtual.jump(by: .seconds(86_400 * 3))
        #expect(texts() == ["2026-01-01T02:30:00Z"])
        #expect(log.ticks.map(\.missed) == [2])
        virtual.advance(by: .seconds(86_400))
        #expect(texts().last == "2026-01-04T02:30:00Z")
        #expect(log.ticks.map(\.index) == [0, 3])
        #expect(timer.statistics?.missed == 2)
        #expect(timer.nextDeadline == (try deadline("2026-01-05T02:30")))
        #expect(timer.period == nil)
    }

    @Test func aTimerThatCatchesUpHasATickForEachUpToItsLimit() throws {
        try PreciseTimer.schedule(daily, on: virtual.service, missedTicks: .catchUp(limit: 3), target: log) {
            $0.note($1)
        }
        virtual.jump(by: .seconds(86_400 * 6))
        #expect(log.ticks.map(\.index) == [0, 1, 2])
        #expect(log.ticks.map(\.missed) == [0, 0, 3])
        virtual.jump(by: .seconds(86_400 * 2))
        #expect(log.ticks.map(\.index) == [0, 1, 2, 6, 7])
        #expect(log.ticks.map(\.missed) == [0, 0, 3, 0, 0])
    }

    @Test func oneTickCountsTenThousandMissedDeadlinesAtMost() throws {
        let timer = try PreciseTimer.schedule(
            .computed { $0.advanced(by: .seconds(1)) },
            on: virtual.service,
            target: log
        ) { $0.note($1) }
        virtual.jump(by: .seconds(20_000))
        #expect(log.ticks.map(\.missed) == [10_000])
        #expect(timer.nextDeadline == virtual.now.advanced(by: .seconds(1)))
    }

    @Test func aSlowConsumerGetsOneTickWithTheCount() async throws {
        var ticks = PreciseTimer.ticks(daily, on: virtual.service).makeAsyncIterator()
        await virtual.advance(by: .seconds(86_400 * 2))
        let first = try #require(try await ticks.next())
        #expect((first.index, first.missed) == (0, 1))
        await virtual.advance(by: .seconds(86_400))
        let second = try #require(try await ticks.next())
        #expect((second.index, second.missed) == (2, 0))
    }

    @MainActor @Test func everyKindOfHandlerGoesOn() async throws {
        let (plain, queued) = (Log(), Log())
        let (actor, model) = (Meter(), Model())
        let hourly = Schedule.hourly(in: .gmt)
        let service = virtual.service
        let timer = try PreciseTimer.schedule(hourly, on: service) { _, tick in plain.note(tick) }
        try PreciseTimer.schedule(hourly, on: service, deliver: .queue(.global()), target: queued) { $0.note($1) }
        try PreciseTimer.schedule(hourly, on: service, target: actor) { meter, tick in meter.note(tick) }
        try PreciseTimer.schedule(hourly, on: service, target: model) { @MainActor model, tick in model.note(tick) }
        for _ in 0..<3 {
            await virtual.advance(by: .seconds(3_600))
            await virtual.settle()
        }
        let ticks = [plain.ticks, queued.ticks, await actor.ticks, model.ticks]
        for ticks in ticks {
            let indices = ticks.map(\.index)
            #expect(indices == [0, 1, 2])
        }
        timer.cancel()
    }

    // MARK: Control

    @Test func aPausedTimerIsLateOnResume() throws {
        let timer = try PreciseTimer.schedule(daily, on: virtual.service, target: log) { $0.note($1) }
        timer.pause(keeping: .grid)
        virtual.advance(by: .seconds(86_400 * 2))
        #expect(log.count == 0)
        timer.resume()
        virtual.advance(by: .zero)
        #expect(log.ticks.map(\.missed) == [1])
        #expect(timer.nextDeadline == (try deadline("2026-01-03T02:30")))
    }

    @Test func aCancelledCalendarNeverTicks() throws {
        let timer = try PreciseTimer.schedule(daily, on: virtual.service, target: log) { $0.note($1) }
        virtual.advance(by: .seconds(86_400))
        #expect(timer.cancel())
        virtual.advance(by: .seconds(86_400 * 3))
        #expect(log.count == 1)
        #expect(virtual.pendingCount == 0)
    }

    @Test func anExtraTickMovesNoDeadline() throws {
        let timer = try PreciseTimer.schedule(daily, on: virtual.service, target: log) { log, tick in
            log.note(tick)
        }
        virtual.advance(by: .seconds(3_600))
        timer.fire()
        virtual.advance(by: .seconds(86_400 * 2))
        #expect(log.ticks.map(\.index) == [0, 0, 1])
        #expect(texts() == ["2026-01-01T01:00:00Z", "2026-01-01T02:30:00Z", "2026-01-02T02:30:00Z"])
    }

    @Test func anExtraTickAskedForInTheHandlerComes() throws {
        let (log, ends) = (log, Notes<PreciseTimer.EndReason>())
        let twice = Schedule.calendar(DateComponents(year: 2026, month: 1, day: 2), in: .gmt)
        let timer = try PreciseTimer.schedule(twice, on: virtual.service, onEnd: ends.append) { timer, tick in
            log.note(tick)
            if log.count == 1 { timer.fire() }
        }
        virtual.advance(by: .seconds(86_400 * 2))
        #expect(log.ticks.map(\.index) == [0, 1])
        #expect(ends.all == [.completed])
        withExtendedLifetime(timer) {}
    }

    @Test func aCalendarIsRescheduledToAnotherOneAndToAPeriod() throws {
        let timer = try PreciseTimer.schedule(daily, on: virtual.service, target: log) { $0.note($1) }
        virtual.advance(by: .seconds(86_400))
        try timer.reschedule(.hourly(at: 15, in: .gmt))
        #expect(timer.nextDeadline == (try deadline("2026-01-02T00:15")))
        virtual.advance(by: .seconds(7_200))
        #expect(log.ticks.map(\.index) == [0, 0, 1])
        try timer.reschedule(.every(.seconds(60)))
        virtual.advance(by: .seconds(180))
        #expect(log.ticks.map(\.index) == [0, 0, 1, 0, 1, 2])
        try timer.reschedule(.onDemand)
        virtual.advance(by: .seconds(86_400))
        #expect(log.count == 6)
        try timer.reschedule(.hourly(in: .gmt))
        virtual.advance(by: .seconds(3_600))
        #expect(log.count == 7)
    }

    @Test func aHandlerMayRescheduleItsCalendar() throws {
        let (log, next) = (log, try deadline("2026-01-01T12:00"))
        let timer = try PreciseTimer.schedule(daily, on: virtual.service) { timer, tick in
            log.note(tick)
            if log.count == 1 { try? timer.reschedule(.once(at: next)) }
        }
        virtual.advance(by: .seconds(86_400 * 2))
        #expect(texts() == ["2026-01-01T02:30:00Z", "2026-01-01T12:00:00Z"])
        #expect(timer.state == .ended(.completed))
    }

    @Test func anExtraTickAndANewScheduleMayComeWhileTheNextDeadlineIsComputed() throws {
        let (timer, asked, log) = (Box<PreciseTimer>(), Count(), log)
        let schedule = Schedule.computed { instant in
            switch asked.add(1) {
            case 2: timer.value?.fire()
            case 3: try? timer.value?.reschedule(.every(.seconds(1)))
            default: break
            }
            return instant.advanced(by: .seconds(600))
        }
        timer.value = try PreciseTimer.schedule(schedule, on: virtual.service) { _, tick in log.note(tick) }
        virtual.advance(by: .seconds(600))
        #expect(log.ticks.map(\.index) == [0, 1], "the extra tick follows")
        virtual.advance(by: .seconds(601))
        #expect(log.ticks.map(\.index) == [0, 1, 1, 0])
        timer.value = nil
    }

    @Test func aTickOfTheFormerScheduleUsesUpNoDeadlineOfTheNewOne() throws {
        let (alarm, log) = (ManualAlarm(), log)
        let (service, start) = (try TimerService(alarm: alarm), alarm.now)
        let timer = try PreciseTimer.schedule(.computed { $0.advanced(by: .seconds(1)) }, on: service, target: log) {
            $0.note($1)
        }
        alarm.move(by: .seconds(1))
        // The first reading decides the tick, and the second one comes just before the handler.
        alarm.happen(before: 2) { try? timer.reschedule(.computed { $0.advanced(by: .seconds(10)) }) }
        alarm.fire()
        let second = start.advanced(by: .seconds(11))
        #expect(timer.nextDeadline == second)
        alarm.move(by: .seconds(10))
        alarm.fire()
        #expect(log.ticks.map(\.deadline) == [start.advanced(by: .seconds(1)), second])
        #expect(log.ticks.map(\.index) == [0, 0])
    }

    @Test func aTimerThatBeganWithAPeriodIsNotRescheduledToACalendar() throws {
        let timer = try PreciseTimer.schedule(.every(.seconds(60)), on: virtual.service, target: log) { $0.note($1) }
        let error = #expect(throws: TimerError.self) { try timer.reschedule(daily) }
        #expect(error?.attempted.contains("schedule a new one") == true)
        virtual.advance(by: .seconds(60))
        #expect(log.count == 1, "the timer is as it was")
        let calendar = try PreciseTimer.schedule(daily, on: virtual.service, target: log) { $0.note($1) }
        #expect(throws: TimerError.self) { try calendar.reschedule(.daily(at: .init(hour: 24))) }
        #expect(calendar.nextDeadline == (try deadline("2026-01-01T02:30")))
        calendar.cancel()
        #expect(throws: TimerError.self) { try calendar.reschedule(daily) }
    }

    // MARK: The clock is set

    @Test func deadlinesThatAStepPassesAreCounted() throws {
        try PreciseTimer.schedule(daily, on: virtual.service, target: log) { $0.note($1) }
        virtual.inject(.stepClock(by: .seconds(86_400 * 3)), after: .seconds(60))
        virtual.advance(by: .seconds(120))
        #expect(log.ticks.map(\.missed) == [2])
        virtual.advance(by: .seconds(86_400))
        #expect(texts() == ["2026-01-01T02:30:00Z", "2026-01-04T02:30:00Z"])
    }

    @Test func aStepBackBringsTheNextDeadlineBack() throws {
        let timer = try PreciseTimer.schedule(daily, on: virtual.service, target: log) { $0.note($1) }
        virtual.advance(by: .seconds(3 * 3_600))
        #expect(timer.nextDeadline == (try deadline("2026-01-02T02:30")))
        virtual.inject(.stepClock(by: .seconds(-86_400)))
        virtual.advance(by: .zero)
        #expect(timer.nextDeadline == (try deadline("2026-01-01T02:30")))
        virtual.advance(by: .seconds(86_400))
        #expect(texts() == ["2026-01-01T02:30:00Z", "2026-01-01T02:30:00Z"])
    }

    @Test func aSmallStepBackRepeatsNothing() throws {
        let timer = try PreciseTimer.schedule(daily, on: virtual.service, target: log) { $0.note($1) }
        virtual.advance(by: .seconds(2 * 3_600 + 1_800))
        #expect(log.count == 1)
        virtual.inject(.stepClock(by: .seconds(-59)))
        virtual.advance(by: .seconds(3_600))
        #expect(log.count == 1)
        #expect(timer.nextDeadline == (try deadline("2026-01-02T02:30")))
    }

    @Test func aStepWhileTheNextDeadlineIsComputedIsSeenToo() throws {
        let (asked, mayAnswer, asks) = (Count(), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let schedule = Schedule.computed(on: .wall) { instant in
            if asked.add(1) == 2 {
                asks.signal()
                mayAnswer.wait()
            }
            return instant.advanced(by: .seconds(600))
        }
        let timer = try PreciseTimer.schedule(
            schedule,
            on: virtual.service,
            deliver: .queue(DispatchQueue(label: "computing")),
            target: log
        ) { $0.note($1) }
        virtual.advance(by: .seconds(600))
        asks.wait()
        virtual.inject(.stepClock(by: .seconds(-3_600)))
        virtual.advance(by: .zero)
        mayAnswer.signal()
        #expect(eventually { log.count == 1 })
        #expect(timer.nextDeadline == virtual.now.advanced(by: .seconds(600)))
    }

    @Test func aChangeOfTheZoneIsSeenWithTheNextLook() throws {
        // Instead of the system's zone, which a test cannot change for itself alone.
        let hour = Count()
        let schedule = Schedule.computed("shifting", on: .wall) { instant in
            let shift = Duration.seconds(3_600 * hour.value)
            let days = (instant.nanoseconds / 1_000_000_000) / 86_400
            let today = TimerInstant(nanoseconds: days * 86_400_000_000_000, clock: .wall).advanced(by: shift)
            return today > instant ? today : today.advanced(by: .seconds(86_400))
        }
        hour.add(10)
        let timer = try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { $0.note($1) }
        #expect(timer.nextDeadline == (try deadline("2026-01-01T10:00")))
        hour.add(-4)
        virtual.inject(.stepClock(by: .zero))
        virtual.advance(by: .zero)
        #expect(timer.nextDeadline == (try deadline("2026-01-01T06:00")))
    }

    @Test func anEndedCalendarIsForgotten() throws {
        weak var released: PreciseTimer?
        let captured = Box<Thing>()
        captured.value = Thing()
        weak let thing = captured.value
        do {
            let held = captured.value
            let timer = try PreciseTimer.schedule(daily, on: virtual.service) { _, _ in withExtendedLifetime(held) {} }
            released = timer
            captured.value = nil
            virtual.advance(by: .seconds(86_400))
        }
        #expect(released == nil)
        #expect(thing == nil)
        #expect(virtual.pendingCount == 0)
    }

    @Test func aRuleIsReleasedOutsideTheLockWhenItIsReplacedAndWhenTheTimerEnds() throws {
        let (releases, service) = (Count(), virtual.service)
        // A release under the lock would find it taken.
        func schedule() -> Schedule {
            let thing = Thing {
                _ = service.activeTimers
                releases.add(1)
            }
            return .computed { instant in withExtendedLifetime(thing) { instant.advanced(by: .seconds(1)) } }
        }
        let timer = try PreciseTimer.schedule(schedule(), on: service) { _, _ in }
        virtual.advance(by: .seconds(2))
        #expect(releases.value == 0)
        try timer.reschedule(schedule())
        #expect(releases.value == 1)
        virtual.advance(by: .seconds(2))
        try timer.reschedule(.every(.seconds(1)))
        #expect(releases.value == 2)
        try timer.reschedule(schedule())
        timer.cancel()
        #expect(releases.value == 3)
        withExtendedLifetime(timer) {}
    }

    @Test(.needsLinux) func theThreadThatWatchesTheClockEndsWithTheLastCalendar() async {
        // A separate process, in which no other test watches the clock.
        await #expect(processExitsWith: .success) {
            let log = Log()
            let timers = try (0..<3)
                .map { _ in
                    try PreciseTimer.schedule(.daily(at: .init(hour: 2)), on: .wall, target: log) { $0.note($1) }
                }
            #expect(eventually { ProcFS.threads(named: "timer.clock").count == 1 })
            for timer in timers { timer.cancel() }
            #expect(eventually { ProcFS.threads(named: "timer.clock").isEmpty })
            let again = try PreciseTimer.schedule(.hourly(), on: .wall, target: log) { $0.note($1) }
            #expect(eventually { ProcFS.threads(named: "timer.clock").count == 1 })
            again.cancel()
        }
    }

    @Test func theSharedServiceOfTheWallClockIsNeverEarly() throws {
        let (log, once) = (log, Log())
        let step: UInt64 = 50_000_000
        let schedule = Schedule.computed(on: .wall) { instant in
            TimerInstant(nanoseconds: (instant.nanoseconds / step + 1) * step, clock: .wall)
        }
        let timer = try PreciseTimer.schedule(schedule, on: .wall, target: log) { $0.note($1) }
        let date = Date(timeIntervalSinceNow: 0.05)
        try PreciseTimer.schedule(.once(at: date), on: .wall, target: once) { $0.note($1) }
        #expect(eventually { log.count >= 3 && once.count == 1 })
        timer.cancel()
        let ticks = log.ticks
        #expect(ticks.allSatisfy { $0.deadline.nanoseconds % step == 0 && $0.delivered >= $0.deadline })
        #expect(zip(ticks, ticks.dropFirst()).allSatisfy { $1.index == $0.index + 1 + $0.missed })
        #expect(once.ticks.map(\.deadline) == [TimerInstant(date)])
        let whole = try PreciseTimer.schedule(.every(.seconds(1), alignedTo: .origin(on: .wall)), on: .wall) { _, _ in }
        #expect(whole.nextDeadline.map { $0.nanoseconds % 1_000_000_000 } == 0)
        #expect("\(TimerService.wall)".contains("service, wall clock"))
    }
}

private actor Meter {
    private(set) var ticks: [PreciseTimer.Tick] = []

    func note(_ tick: PreciseTimer.Tick) { ticks.append(tick) }
}

@MainActor private final class Model {
    private(set) var ticks: [PreciseTimer.Tick] = []

    func note(_ tick: PreciseTimer.Tick) { ticks.append(tick) }
}
