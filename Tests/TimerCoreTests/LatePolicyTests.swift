import PreciseTimer
import Testing

/// The order and the number of late ticks with more than one timer or round.
final class LatePolicyTests {
    private var scheduler = Scheduler()

    @Test func ticksOfSeveralTimersThatCatchUpComeInOrderOfDeadline() {
        let slow = scheduler.add(every(30, from: 30), policy: .catchUp(limit: 10)).timer
        let fast = scheduler.add(every(20, from: 20), policy: .catchUp(limit: 10)).timer
        let ticks = scheduler.firing(at: 65).ticks
        #expect(ticks.map(\.due.deadline) == [20, 30, 40, 60, 60])
        #expect(ticks.map(\.timer) == [fast, slow, fast, slow, fast], "equal deadlines in order of scheduling")
        #expect(ticks.allSatisfy { $0.due.missed == 0 })
    }

    @Test func theCatchUpLimitAppliesToEachRound() {
        let timer = scheduler.add(every(10, from: 10), policy: .catchUp(limit: 2)).timer
        for now in [100, 200] as [UInt64] {
            let first = now - 90
            #expect(
                scheduler.firing(at: now).ticks == [
                    Ticked(timer, first / 10 - 1, first), Ticked(timer, first / 10, first + 10, missed: 8),
                ]
            )
        }
    }

    @Test func missedDeadlinesAreCountedWhenTheTickBegins() {
        let timer = scheduler.add(every(100, from: 100)).timer
        #expect(scheduler.take(at: 100) == timer)
        #expect(scheduler.begin(timer, at: 350) == Expiration(index: 0, deadline: 100, missed: 2))
    }

    @Test func aDelayAfterTheReturnStartsAtTheReturn() {
        let schedule = ResolvedSchedule(.at(100), .fixedDelay(50))
        let timer = scheduler.add(schedule, policy: .catchUp(limit: 5)).timer
        #expect(scheduler.take(at: 100) == timer)
        #expect(scheduler.begin(timer, at: 900) == Expiration(index: 0, deadline: 100, missed: 0))
        #expect(timer.timing.nextDeadline == .max, "it depends on the handler")
        #expect(scheduler.finish(timer, decidedAt: 900, now: 1_000) == .waits(.leave))
        #expect(scheduler.endRound() == .set(1_050))
        #expect(scheduler.firing(at: 1_050).ticks == [Ticked(timer, 1, 1_050)])
    }

    @Test func afterABatchOfLateTicksOtherDueTimersGetTheirTurn() {
        let (slow, other) = (
            scheduler.add(every(1, from: 1), policy: .catchUp(limit: 1_000)).timer, TimerRecord()
        )
        let batch = UInt64(Scheduler.batch)
        let first = scheduler.firing(at: 200) { scheduler, ticked in
            if ticked.due.index == 0 { _ = scheduler.add(other, on: once(at: 2)) }
        }
        #expect(first.ticks == (0...batch).map { Ticked(slow, $0, $0 + 1) })
        #expect(first.alarm == .set(2), "at once")
        let second = scheduler.firing(at: 200).ticks
        #expect(second.prefix(2) == [Ticked(other, 0, 2), Ticked(slow, batch + 1, batch + 2)])
        #expect(second.count == 2 + Scheduler.batch)
    }
}
