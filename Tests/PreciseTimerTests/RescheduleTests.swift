import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// A rescheduled timer starts again. If the reschedule is refused, the timer goes on as before.
struct RescheduleTests {
    private let virtual = VirtualTime()
    private let log = Log()

    /// A tempo is changed more often than it ticks.
    @Test(arguments: [true, false]) func aNewPeriodWithTheNextDeadlineKeepsThePhase(keepsPhase: Bool) throws {
        let timer = try PreciseTimer.schedule(.every(.milliseconds(20)), on: virtual.service, target: log) {
            $0.note($1)
        }
        for change in 0..<100 {
            let period = Duration.milliseconds(20 + change % 3)
            let next = timer.nextDeadline ?? virtual.now
            try timer.reschedule(keepsPhase ? .every(period, at: next) : .every(period))
            virtual.advance(by: .milliseconds(10))
        }
        #expect(keepsPhase ? log.count > 40 : log.count == 0)
    }

    @Test func theNewScheduleIsCountedFromNowAndNumberedFromZero() throws {
        let timer = try schedule(.every(.milliseconds(10)))
        virtual.advance(by: .milliseconds(25))
        let now = virtual.now
        try timer.reschedule(.every(.milliseconds(7)))
        #expect(timer.nextDeadline == now.advanced(by: .milliseconds(7)))
        #expect(timer.period == .milliseconds(7))
        virtual.advance(by: .milliseconds(14))
        #expect(log.ticks.map(\.index) == [0, 1, 0, 1])
        #expect(log.ticks.last?.deadline == now.advanced(by: .milliseconds(14)))
    }

    @Test(arguments: [
        PreciseTimer.Schedule.rate(3, per: .seconds(1)), .every(.seconds(1), for: .seconds(2)),
        .every(.seconds(1), count: 2), .every(.seconds(1), jitter: .milliseconds(900)),
        .every(.seconds(1), after: .zero, spread: .milliseconds(500)),
    ])
    func nothingOfTheFormerScheduleRemains(former: PreciseTimer.Schedule) throws {
        let (virtual, log) = (VirtualTime(seed: 5), Log())
        let timer = try PreciseTimer.schedule(former, on: virtual.service, target: log) { $0.note($1) }
        virtual.advance(by: .milliseconds(1_950))
        let (before, start) = (log.count, virtual.now)
        #expect(before > 0)
        try timer.reschedule(.every(.seconds(1)))
        virtual.advance(by: .seconds(2))
        virtual.jump(by: .seconds(3))
        virtual.advance(by: .seconds(5))
        let ticks = log.ticks.dropFirst(before)
        #expect(ticks.map { start.duration(to: $0.deadline) } == [1, 2, 3, 6, 7, 8, 9, 10].map(Duration.seconds))
        #expect(ticks.map(\.index) == [0, 1, 2, 5, 6, 7, 8, 9])
        #expect(ticks.map(\.missed) == [0, 0, 2, 0, 0, 0, 0, 0])
        timer.fire()
        try timer.reschedule(.every(.seconds(1)))
        virtual.advance(by: .milliseconds(500))
        #expect(log.count == before + 8, "an extra tick belongs to its schedule")
    }

    /// The late deadlines of the new schedule begin a burst of their own.
    @Test func aTimerRescheduledInABurstCatchesUpAnew() throws {
        let (virtual, box) = (VirtualTime(), Box<PreciseTimer>())
        let log = Log()
        box.value = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            missedTicks: .catchUp(limit: 2),
            target: log
        ) { log, tick in
            log.note(tick)
            let start = tick.delivered.advanced(by: .seconds(-3))
            if log.count == 1 { try? box.value?.reschedule(.every(.seconds(1), at: start)) }
        }
        virtual.jump(by: .seconds(10))
        #expect(log.ticks.map(\.missed) == [0, 0, 2])
        box.value = nil
    }

    @Test func aTimerRescheduledInItsHandlerGoesOnByTheNewSchedule() throws {
        let (start, log) = (virtual.now, log)
        let timer = try PreciseTimer.schedule(.every(.milliseconds(10)), on: virtual.service) { timer, tick in
            log.note(tick)
            if log.count == 2 { try? timer.reschedule(.every(.milliseconds(100), after: .milliseconds(1))) }
        }
        virtual.advance(by: .milliseconds(130))
        #expect(offsets(from: start) == [10, 20, 21, 121])
        #expect(timer.state == .scheduled)
    }

    @Test func aTimerRescheduledInItsLastHandlerGoesOn() throws {
        let (start, log) = (virtual.now, log)
        let timer = try PreciseTimer.schedule(.once(after: .milliseconds(10)), on: virtual.service) { timer, tick in
            log.note(tick)
            if log.count < 3 { try? timer.reschedule(.once(after: .milliseconds(5))) }
        }
        virtual.advance(by: .milliseconds(50))
        #expect(offsets(from: start) == [10, 15, 20])
        #expect(timer.state == .ended(.completed))
    }

    @Test func aFixedDelayRescheduledInItsHandlerCountsFromTheCall() throws {
        let (virtual, start, log) = (virtual, virtual.now, log)
        let timer = try PreciseTimer.schedule(.fixedDelay(.milliseconds(10)), on: virtual.service) { timer, tick in
            log.note(tick)
            if log.count == 1 { try? timer.reschedule(.fixedDelay(.milliseconds(20))) }
            virtual.jump(by: .milliseconds(3))
        }
        virtual.advance(by: .milliseconds(60))
        #expect(offsets(from: start) == [10, 30, 53])
        #expect(timer.period == .milliseconds(20))
    }

    @Test func aSiblingRescheduledInTheSameBatchHasNoTickOfTheOldSchedule() throws {
        let start = virtual.now
        let sibling = Box<PreciseTimer>()
        try PreciseTimer.schedule(.once(after: .milliseconds(10)), on: virtual.service, target: log) { _, _ in
            try? sibling.value?.reschedule(.once(after: .milliseconds(5)))
        }
        sibling.value = try schedule(.once(after: .milliseconds(10)))
        virtual.advance(by: .milliseconds(10))
        #expect(log.count == 0)
        virtual.advance(by: .milliseconds(10))
        #expect(offsets(from: start) == [15])
    }

    @Test func aPausedTimerStaysPaused() throws {
        let timer = try schedule(.every(.milliseconds(10)))
        timer.pause(keeping: .grid)
        try timer.reschedule(.every(.milliseconds(20)))
        #expect(timer.state == .paused)
        virtual.advance(by: .milliseconds(20))
        #expect(log.count == 0)
        timer.resume()
        virtual.advance(by: .zero)
        #expect(log.ticks.map(\.lateness) == [.zero])
    }

    @Test func aTimerThatHasEndedCannotBeRescheduled() throws {
        let completed = try schedule(.once(after: .milliseconds(10)))
        virtual.advance(by: .milliseconds(10))
        let cancelled = try schedule(.once(after: .milliseconds(10)))
        cancelled.cancel()
        for (timer, reason) in [(completed, "completed"), (cancelled, "cancelled")] {
            let error = #expect(throws: TimerError.self) { try timer.reschedule(.every(.milliseconds(10))) }
            #expect(error?.code == .timerEnded)
            #expect(error?.attempted.contains("has ended, \(reason) (") == true)
            #expect(error?.attempted.contains(".onDemand") == true)
        }
        #expect(virtual.pendingCount == 0)
        virtual.advance(by: .milliseconds(50))
        #expect(log.count == 1)
    }

    @Test(arguments: [
        PreciseTimer.Schedule.every(.zero), .once(after: .nanoseconds(-1)), .rate(0, per: .seconds(1)),
        .fixedDelay(.zero), .once(at: TimerInstant(nanoseconds: 5_000_000_000, clock: .continuous)),
        .every(.seconds(1), at: TimerInstant(nanoseconds: 5_000_000_000, clock: .wall)),
    ])
    func aRefusedScheduleLeavesTheTimerAsItWas(schedule refused: PreciseTimer.Schedule) throws {
        let timer = try schedule(.every(.milliseconds(10)))
        virtual.advance(by: .milliseconds(25))
        let next = timer.nextDeadline
        let error = #expect(throws: TimerError.self) { try timer.reschedule(refused) }
        #expect(error?.code == .invalidSchedule)
        #expect(timer.nextDeadline == next)
        #expect(timer.period == .milliseconds(10))
        virtual.advance(by: .milliseconds(15))
        #expect(log.ticks.map(\.index) == [0, 1, 2, 3])
    }

    @Test func postponingDoesNotSetTheAlarm() throws {
        let alarm = ManualAlarm()
        let service = try TimerService(alarm: alarm)
        let timer = try PreciseTimer.schedule(.once(after: .seconds(1)), on: service, target: log) { $0.note($1) }
        #expect(alarm.settings.count == 1)
        for _ in 0..<1_000 {
            alarm.move(by: .microseconds(100))
            try timer.reschedule(.once(after: .seconds(1)))
        }
        #expect(alarm.settings.count == 1)
        try timer.reschedule(.once(after: .zero))
        #expect(alarm.settings.count == 2, "an earlier deadline sets the alarm")
        #expect(alarm.settings.last == alarm.now)
    }

    @Test func anAlarmLeftAloneFindsNoDueTimerAndIsSetForThePostponedDeadline() throws {
        let alarm = ManualAlarm()
        let service = try TimerService(alarm: alarm)
        let timer = try PreciseTimer.schedule(.once(after: .seconds(1)), on: service, target: log) { $0.note($1) }
        try timer.reschedule(.once(after: .seconds(3)))
        alarm.move(by: .seconds(1))
        alarm.fire()
        #expect(log.count == 0)
        #expect(alarm.settings.last == timer.nextDeadline)
        alarm.move(by: .seconds(2))
        alarm.fire()
        #expect(log.ticks.map(\.lateness) == [.zero])
    }

    private func schedule(_ schedule: PreciseTimer.Schedule) throws -> PreciseTimer {
        try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { $0.note($1) }
    }

    /// The deadlines of the ticks, in milliseconds.
    private func offsets(from start: TimerInstant) -> [Int] {
        log.ticks.map { Int(start.duration(to: $0.deadline) / .milliseconds(1)) }
    }
}
