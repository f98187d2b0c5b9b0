import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// A timer on demand ticks after a reschedule and rests otherwise; on virtual time.
struct OnDemandTests {
    private let virtual = VirtualTime()
    private let log = Log()

    @Test func aRestingTimerIsScheduledAndHasNoDeadline() throws {
        let timer = try schedule()
        #expect(timer.state == .scheduled)
        #expect(timer.nextDeadline == nil)
        #expect(timer.period == nil)
        #expect(virtual.pendingCount == 1)
        #expect(virtual.nextDeadline == nil)
        virtual.advance(by: .seconds(86_400))
        #expect(log.count == 0)
        #expect(timer.state == .scheduled)
    }

    @Test func activeTimersShowARestingTimer() throws {
        let timer = try PreciseTimer.schedule(.onDemand, on: virtual.service, label: "rests", target: log) {
            $0.note($1)
        }
        let fresh = try #require(virtual.service.activeTimers.first)
        #expect(fresh.label == "rests")
        #expect(fresh.nextDeadline == nil)
        #expect(fresh.isTargetAlive && !fresh.isPaused && fresh.ticks == 0)
        try timer.reschedule(.once(after: .seconds(1)))
        #expect(virtual.service.activeTimers.map(\.nextDeadline) == [virtual.now.advanced(by: .seconds(1))])
        virtual.advance(by: .seconds(1))
        let rested = try #require(virtual.service.activeTimers.first)
        #expect(rested.nextDeadline == nil)
        #expect(rested.ticks == 1)
    }

    @Test func eachRescheduleGivesOneTickNumberedFromZero() throws {
        let (start, timer) = (virtual.now, try schedule())
        for _ in 0..<3 {
            virtual.advance(by: .milliseconds(7))
            try timer.reschedule(.once(after: .milliseconds(5)))
            #expect(virtual.nextDeadline == virtual.now.advanced(by: .milliseconds(5)))
            virtual.advance(by: .milliseconds(13))
            #expect(timer.nextDeadline == nil)
            #expect(virtual.nextDeadline == nil)
        }
        try timer.reschedule(.once(at: start.advanced(by: .milliseconds(70))))
        virtual.advance(by: .milliseconds(100))
        #expect(offsets(from: start) == [12, 32, 52, 70])
        #expect(log.ticks.allSatisfy { $0.index == 0 && $0.missed == 0 && $0.lateness == .zero })
        #expect(timer.state == .scheduled)
    }

    @Test func aTimerThatIsPostponedAThousandTimesTicksOnce() throws {
        let (start, timer) = (virtual.now, try schedule())
        for _ in 0..<1_000 {
            try timer.reschedule(.once(after: .milliseconds(10)))
            virtual.advance(by: .milliseconds(9))
        }
        #expect(log.count == 0)
        virtual.advance(by: .seconds(60))
        #expect(offsets(from: start) == [999 * 9 + 10])
    }

    @Test func aTimerSetFromItsOwnHandlerTicksAgain() throws {
        let (start, log) = (virtual.now, log)
        let timer = try PreciseTimer.schedule(.onDemand, on: virtual.service) { timer, tick in
            log.note(tick)
            if log.count < 3 { try? timer.reschedule(.once(after: .milliseconds(5))) }
        }
        try timer.reschedule(.once(after: .milliseconds(10)))
        virtual.advance(by: .seconds(1))
        #expect(offsets(from: start) == [10, 15, 20])
        #expect(timer.state == .scheduled)
        #expect(virtual.pendingCount == 1)
    }

    @Test func anyScheduleGoesOnUntilTheTimerIsRescheduledToOnDemand() throws {
        let timer = try schedule()
        let schedules: [(PreciseTimer.Schedule, period: Duration)] = [
            (.every(.milliseconds(10)), .milliseconds(10)),
            (.every(.milliseconds(10), at: virtual.now), .milliseconds(10)),
            (.rate(100, per: .seconds(1)), .milliseconds(10)),
            (.fixedDelay(.milliseconds(10)), .milliseconds(10)),
        ]
        for (schedule, period) in schedules {
            try timer.reschedule(schedule)
            #expect(timer.period == period)
            let before = log.count
            virtual.advance(by: .milliseconds(35))
            #expect(log.count >= before + 3)
            try timer.reschedule(.onDemand)
            #expect(timer.nextDeadline == nil && timer.period == nil && virtual.nextDeadline == nil)
            let after = log.count
            virtual.advance(by: .seconds(10))
            #expect(log.count == after)
            #expect(timer.state == .scheduled)
        }
    }

    @Test func reschedulingToOnDemandDiscardsAPendingDeadline() throws {
        let timer = try schedule()
        try timer.reschedule(.once(after: .milliseconds(10)))
        virtual.advance(by: .milliseconds(9))
        try timer.reschedule(.onDemand)
        virtual.advance(by: .seconds(10))
        #expect(log.count == 0)
        try timer.reschedule(.once(after: .zero))
        virtual.advance(by: .zero)
        #expect(log.count == 1)
    }

    @Test(arguments: [PreciseTimer.Schedule.every(.milliseconds(10)), .once(after: .milliseconds(10))])
    func anOrdinaryTimerRescheduledToOnDemandRestsFromThenOn(schedule: PreciseTimer.Schedule) throws {
        let timer = try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { $0.note($1) }
        virtual.advance(by: .milliseconds(5))
        try timer.reschedule(.onDemand)
        virtual.advance(by: .seconds(1))
        #expect(log.count == 0)
        try timer.reschedule(.once(after: .milliseconds(10)))
        virtual.advance(by: .seconds(1))
        #expect(log.count == 1)
        #expect(timer.state == .scheduled, "it rests after its last deadline, too")
    }

    @Test func anOrdinaryTimerRescheduledToOnDemandInItsLastHandlerRests() throws {
        let log = log
        let timer = try PreciseTimer.schedule(.once(after: .milliseconds(10)), on: virtual.service) { timer, tick in
            log.note(tick)
            try? timer.reschedule(.onDemand)
        }
        virtual.advance(by: .seconds(1))
        #expect(log.count == 1)
        #expect(timer.state == .scheduled)
        try timer.reschedule(.once(after: .milliseconds(10)))
        virtual.advance(by: .seconds(1))
        #expect(log.count == 2)
    }

    @Test func firingARestingTimerGivesOneTick() throws {
        let timer = try schedule()
        for round in 1...3 {
            virtual.advance(by: .milliseconds(10))
            let now = virtual.now
            #expect(timer.fire() && timer.fire())
            #expect(timer.nextDeadline == now)
            virtual.advance(by: .seconds(1))
            #expect(log.count == round)
            #expect(log.ticks.last?.deadline == now)
            #expect(log.ticks.last?.index == 0)
            #expect(timer.nextDeadline == nil)
            #expect(timer.state == .scheduled)
        }
    }

    @Test func firingLeavesAPendingDeadlineAlone() throws {
        let (start, timer) = (virtual.now, try schedule())
        try timer.reschedule(.once(after: .milliseconds(10)))
        virtual.advance(by: .milliseconds(4))
        timer.fire()
        virtual.advance(by: .seconds(1))
        #expect(offsets(from: start) == [4, 10])
        timer.fire()
        virtual.advance(by: .zero)
        #expect(log.ticks.map(\.index) == [0, 0, 1], "it has the number of the next deadline")
    }

    @Test func aRestingTimerCanBePaused() throws {
        let timer = try schedule()
        #expect(timer.pause(keeping: .grid))
        #expect(timer.state == .paused)
        try timer.reschedule(.once(after: .milliseconds(10)))
        virtual.advance(by: .milliseconds(25))
        #expect(log.count == 0)
        try timer.reschedule(.once(after: .milliseconds(10)))
        timer.fire()
        virtual.advance(by: .milliseconds(25))
        #expect(timer.resume())
        virtual.advance(by: .zero)
        virtual.advance(by: .seconds(1))
        #expect(log.ticks.map(\.lateness) == [.milliseconds(25), .milliseconds(15)], "the extra tick comes first")
        #expect(timer.state == .scheduled)
    }

    @Test func aTimerOnDemandCanBeginPaused() throws {
        let timer = try PreciseTimer.schedule(.onDemand, on: virtual.service, paused: true, target: log) {
            $0.note($1)
        }
        #expect(timer.state == .paused)
        #expect(timer.resume())
        #expect(timer.state == .scheduled)
        virtual.advance(by: .seconds(1))
        #expect(log.count == 0)
    }

    @Test func aRefusedScheduleLeavesAPendingDeadlineOrARestAlone() throws {
        let timer = try schedule()
        #expect(throws: TimerError.self) { try timer.reschedule(.every(.zero)) }
        #expect(timer.nextDeadline == nil)
        try timer.reschedule(.once(after: .milliseconds(10)))
        let next = timer.nextDeadline
        #expect(throws: TimerError.self) { try timer.reschedule(.once(after: .milliseconds(-1))) }
        #expect(timer.nextDeadline == next)
    }

    @Test func theMissedTickPolicyAndTheToleranceApplyToEachSchedule() throws {
        let timer = try PreciseTimer.schedule(
            .onDemand,
            on: virtual.service,
            tolerance: .milliseconds(3),
            missedTicks: .catchUp(limit: 2),
            target: log
        ) { $0.note($1) }
        for round in 1...2 {
            try timer.reschedule(.every(.milliseconds(10)))
            virtual.jump(by: .milliseconds(45))
            try timer.reschedule(.onDemand)
            #expect(log.ticks.map(\.index) == Array(repeating: [0, 1], count: round).flatMap { $0 })
            #expect(log.ticks.accounted == round * 4)
        }
    }

    @Test func restingAndPostponingSetNoAlarm() throws {
        let alarm = ManualAlarm()
        let service = try TimerService(alarm: alarm)
        let timer = try PreciseTimer.schedule(.onDemand, on: service, target: log) { $0.note($1) }
        #expect(alarm.settings.isEmpty)
        for _ in 0..<1_000 {
            alarm.move(by: .microseconds(100))
            try timer.reschedule(.once(after: .seconds(1)))
        }
        #expect(alarm.settings.count == 1)
        try timer.reschedule(.onDemand)
        #expect(alarm.settings.count == 1, "a firing for nothing costs less than a system call per byte")
        alarm.move(by: .seconds(2))
        alarm.fire()
        #expect(log.count == 0)
        #expect(alarm.settings.count == 1)
        try timer.reschedule(.once(after: .seconds(1)))
        #expect(alarm.settings.last == timer.nextDeadline)
    }

    private func schedule() throws -> PreciseTimer {
        try PreciseTimer.schedule(.onDemand, on: virtual.service, target: log) { $0.note($1) }
    }

    /// The deadlines of the ticks, in milliseconds.
    private func offsets(from start: TimerInstant) -> [Int] {
        log.ticks.map { Int(start.duration(to: $0.deadline) / .milliseconds(1)) }
    }
}
