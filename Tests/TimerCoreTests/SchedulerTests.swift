import Testing
import TimerCore

/// What the scheduler decides, on numbers alone.
struct SchedulerTests {
    private func instant(_ nanoseconds: UInt64) -> TimerInstant { TimerInstant(nanoseconds: nanoseconds) }

    private func every(_ period: UInt64, from start: UInt64) -> Grid { Grid(start: instant(start), period: period) }

    private func expire(_ scheduler: inout Scheduler, at now: UInt64) -> (due: [Due], alarm: Scheduler.AlarmOrder) {
        var due: [Due] = []
        scheduler.expire(at: instant(now), into: &due)
        return (due, scheduler.finishFiring())
    }

    @Test func theAlarmIsSetForTheFirstTimerAndForEarlierOnesOnly() {
        var scheduler = Scheduler()
        #expect(scheduler.add(every(1_000, from: 500)).alarm == .set(instant(500)))
        #expect(scheduler.add(every(1_000, from: 500)).alarm == .leave)
        #expect(scheduler.add(every(1_000, from: 700)).alarm == .leave)
        #expect(scheduler.add(every(1_000, from: 499)).alarm == .set(instant(499)))
    }

    @Test func aLateLookGivesOneTickWithTheOldestDeadline() {
        var scheduler = Scheduler()
        let timer = scheduler.add(every(300, from: 300)).timer
        #expect(expire(&scheduler, at: 300).due == [due(timer, 0, 300)])
        let late = expire(&scheduler, at: 951)
        #expect(late.due == [due(timer, 1, 600, missed: 1)])
        #expect(late.alarm == .set(instant(1_200)))
        #expect(expire(&scheduler, at: 1_200).due == [due(timer, 3, 1_200)])
    }

    @Test(arguments: [(599, 0), (600, 1), (601, 1), (899, 1), (900, 2), (3_600_000_000_300, 12_000_000_000)])
    func missedCountsTheLaterDeadlinesThatHavePassed(now: UInt64, missed: UInt64) {
        var scheduler = Scheduler()
        let timer = scheduler.add(every(300, from: 300)).timer
        #expect(expire(&scheduler, at: now).due == [due(timer, 0, 300, missed: missed)])
        #expect(scheduler.nextDeadline == instant(300 * (missed + 2)))
    }

    @Test func anEarlyFiringFindsNothingAndSetsTheAlarmAgain() {
        var scheduler = Scheduler()
        _ = scheduler.add(every(300, from: 300))
        let early = expire(&scheduler, at: 299)
        #expect(early.due == [])
        #expect(early.alarm == .set(instant(300)))
    }

    @Test func whatIsDueComesInOrderOfDeadlineAndThenOfScheduling() {
        var scheduler = Scheduler()
        let third = scheduler.add(Grid(start: instant(20))).timer
        let first = scheduler.add(Grid(start: instant(10))).timer
        let fourth = scheduler.add(Grid(start: instant(20))).timer
        let second = scheduler.add(Grid(start: instant(10))).timer
        #expect(expire(&scheduler, at: 25).due.map(\.timer) == [first, second, third, fourth])
    }

    @Test func repeatingTimersKeepTheirOrderOfSchedulingForEver() {
        var scheduler = Scheduler()
        let timers = (0..<50).map { _ in scheduler.add(every(10, from: 10)).timer }
        for round in 1...20 {
            #expect(expire(&scheduler, at: UInt64(round) * 10).due.map(\.timer) == timers)
        }
    }

    @Test func aSingleDeadlineIsTheLast() {
        var scheduler = Scheduler()
        let timer = scheduler.add(Grid(start: instant(10))).timer
        let expired = expire(&scheduler, at: 10)
        #expect(expired.due == [due(timer, 0, 10, isLast: true)])
        #expect(expired.alarm == .set(nil))
        #expect(scheduler.count == 1, "known until it is removed")
        #expect(scheduler.remove(timer) == true)
        #expect(scheduler.count == 0)
    }

    @Test func duringAFiringTheAlarmIsLeftAloneAndAtItsEndSetForAllThatCame() {
        var scheduler = Scheduler()
        _ = scheduler.add(every(100, from: 10))
        var due: [Due] = []
        scheduler.expire(at: instant(10), into: &due)
        #expect(scheduler.add(Grid(start: instant(50))).alarm == .leave)
        let earliest = scheduler.add(Grid(start: instant(30)))
        #expect(earliest.alarm == .leave)
        #expect(scheduler.finishFiring() == .set(instant(30)))
        #expect(scheduler.add(Grid(start: instant(40))).alarm == .leave)
        #expect(scheduler.add(Grid(start: instant(20))).alarm == .set(instant(20)))
    }

    @Test func aFiringThatIsCutShortByRemovalOfAllHoldsNoOrderBack() {
        var scheduler = Scheduler()
        _ = scheduler.add(every(100, from: 10))
        var due: [Due] = []
        scheduler.expire(at: instant(10), into: &due)
        scheduler.removeAll()
        #expect(scheduler.add(Grid(start: instant(50))).alarm == .set(instant(50)))
    }

    @Test func aRemovedTimerIsNotDueAndTheAlarmIsLeftAlone() {
        var scheduler = Scheduler()
        let timer = scheduler.add(every(10, from: 10)).timer
        #expect(scheduler.remove(timer) == true)
        #expect(scheduler.remove(timer) == false)
        #expect(expire(&scheduler, at: 100).due == [])
    }

    @Test func aRescheduledTimerStartsAnew() {
        var scheduler = Scheduler()
        let timer = scheduler.add(every(10, from: 10)).timer
        #expect(expire(&scheduler, at: 55).due == [due(timer, 0, 10, missed: 4)])
        #expect(scheduler.reschedule(timer, on: every(100, from: 200)) == .leave)
        #expect(expire(&scheduler, at: 199).due == [])
        #expect(scheduler.reschedule(timer, on: every(100, from: 198)) == .set(instant(198)))
        #expect(expire(&scheduler, at: 200).due == [due(timer, 0, 198)])
        #expect(scheduler.remove(timer) == true)
        #expect(scheduler.reschedule(timer, on: every(1, from: 1)) == nil)
    }

    @Test func aTimerCanBeRescheduledAfterItsLastDeadline() {
        var scheduler = Scheduler()
        let timer = scheduler.add(Grid(start: instant(10))).timer
        _ = expire(&scheduler, at: 10)
        #expect(scheduler.reschedule(timer, on: Grid(start: instant(30))) == .set(instant(30)))
        #expect(expire(&scheduler, at: 30).due == [due(timer, 0, 30, isLast: true)])
    }

    @Test func neverIsNotADeadlineToSetAnAlarmFor() {
        var scheduler = Scheduler()
        #expect(scheduler.add(Grid(start: .never(on: .suspending))).alarm == .leave)
        #expect(scheduler.nextDeadline == nil)
        let expired = expire(&scheduler, at: .max)
        #expect(expired.due == [])
        #expect(expired.alarm == .set(nil))
    }

    @Test func aPeriodOfOneNanosecondIsTakenByDivision() {
        var scheduler = Scheduler()
        let timer = scheduler.add(every(1, from: 0)).timer
        let hour: UInt64 = 3_600_000_000_000
        #expect(expire(&scheduler, at: hour).due == [due(timer, 0, 0, missed: hour)])
    }

    @Test(arguments: 0..<10)
    func randomLooksAccountForEveryDeadlineOfEveryTimer(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var scheduler = Scheduler()
        var grids: [TimerID: Grid] = [:]
        var accounted: [TimerID: UInt64] = [:]
        var now: UInt64 = 0
        for _ in 0..<500 {
            if Bool.random(using: &random) {
                let grid = every(.random(in: 1...40, using: &random), from: now + .random(in: 0...100, using: &random))
                grids[scheduler.add(grid).timer] = grid
            }
            if let victim = grids.keys.min(by: { $0.generation < $1.generation }), grids.count > 60 {
                #expect(scheduler.remove(victim) == true)
                grids[victim] = nil
            }
            now += .random(in: 0...90, using: &random)
            for tick in expire(&scheduler, at: now).due {
                #expect(tick.index == accounted[tick.timer, default: 0])
                #expect(tick.deadline == grids[tick.timer]?.deadline(tick.index))
                accounted[tick.timer, default: 0] += 1 + tick.missed
            }
            if let broken = scheduler.brokenInvariant { Issue.record("\(broken)") }
            for (timer, grid) in grids {
                let passed = grid.start > instant(now) ? 0 : grid.latestIndex(at: instant(now)) + 1
                #expect(accounted[timer, default: 0] == passed)
            }
        }
    }

    private func due(
        _ timer: TimerID,
        _ index: UInt64,
        _ deadline: UInt64,
        missed: UInt64 = 0,
        isLast: Bool = false
    ) -> Due {
        Due(timer: timer, index: index, deadline: instant(deadline), missed: missed, isLast: isLast)
    }
}
