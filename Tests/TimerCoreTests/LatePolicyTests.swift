import TestSupport
import Testing
import TimerCore

/// The order and the count of late ticks, where more than one timer or look is concerned.
struct LatePolicyTests {
    @Test func ticksOfSeveralTimersThatCatchUpComeInOrderOfDeadline() {
        var scheduler = Scheduler()
        let slow = scheduler.add(every(30, from: 30), policy: .catchUp(limit: 10)).timer
        let fast = scheduler.add(every(20, from: 20), policy: .catchUp(limit: 10)).timer
        let ticks = scheduler.firing(at: 65).ticks
        #expect(ticks.map(\.due.deadline.nanoseconds) == [20, 30, 40, 60, 60])
        #expect(ticks.map(\.timer) == [fast, slow, fast, slow, fast], "equal deadlines in order of scheduling")
        #expect(ticks.allSatisfy { $0.due.missed == 0 })
    }

    @Test func theLimitIsOfOneLook() {
        var scheduler = Scheduler()
        let timer = scheduler.add(every(10, from: 10), policy: .catchUp(limit: 2)).timer
        for look in [100, 200] as [UInt64] {
            let first = look - 90
            #expect(
                scheduler.firing(at: look).ticks == [
                    Ticked(timer, first / 10 - 1, first), Ticked(timer, first / 10, first + 10, missed: 8),
                ]
            )
        }
    }

    @Test func delayRestartsTheGridAtTheLook() {
        var scheduler = Scheduler()
        let timer = scheduler.add(every(300, from: 300), policy: .delay).timer
        #expect(scheduler.firing(at: 599).ticks == [Ticked(timer, 0, 300)])
        #expect(scheduler.nextLook == instant(600), "late by less than a period")
        let late = scheduler.firing(at: 951)
        #expect(late.ticks == [Ticked(timer, 1, 600, missed: 1)])
        #expect(late.alarm == .set(instant(1_251)))
        #expect(scheduler.firing(at: 1_251).ticks == [Ticked(timer, 3, 1_251)])
    }

    @Test func aTickIsDecidedOnWhenItBegins() {
        var scheduler = Scheduler()
        _ = scheduler.add(every(100, from: 100))
        var claims: [Claim] = []
        scheduler.expire(at: instant(100), into: &claims)
        #expect(claims.map(\.deadline) == [instant(100)])
        #expect(scheduler.begin(claims[0], at: instant(350)) == Due(index: 0, deadline: instant(100), missed: 2))
    }

    @Test func aDelayAfterTheReturnBeginsWithTheReturn() {
        var scheduler = Scheduler()
        let grid = Grid(origin: instant(100), repetition: .afterReturn(50))
        let timer = scheduler.add(grid, policy: .catchUp(limit: 5)).timer
        var claims: [Claim] = []
        scheduler.expire(at: instant(100), into: &claims)
        #expect(scheduler.begin(claims[0], at: instant(900)) == Due(index: 0, deadline: instant(100), missed: 0))
        #expect(scheduler[timer]?.nextDeadline == nil, "it depends on the handler")
        #expect(scheduler.finish(claims[0], lookedAt: instant(900), now: instant(1_000)) == .waits(.leave))
        #expect(scheduler.finishFiring() == .set(instant(1_050)))
        #expect(scheduler.firing(at: 1_050).ticks == [Ticked(timer, 1, 1_050)])
    }

    @Test(arguments: 0..<3)
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
                #expect(scheduler.end(victim) == true)
                scheduler.forget(victim)
                grids[victim] = nil
            }
            now += .random(in: 0...90, using: &random)
            var wrong: [Ticked] = []
            for tick in scheduler.firing(at: now).ticks {
                let (index, deadline) = (tick.due.index, grids[tick.timer]?.deadline(tick.due.index))
                if index != accounted[tick.timer, default: 0] || tick.due.deadline != deadline { wrong.append(tick) }
                accounted[tick.timer, default: 0] += 1 + tick.due.missed
            }
            #expect(wrong == [])
            if let broken = scheduler.brokenInvariant { Issue.record("\(broken)") }
            let unaccounted = grids.filter { timer, grid in
                let passed = grid.origin > instant(now) ? 0 : grid.latestStep(at: instant(now)) + 1
                return accounted[timer, default: 0] != passed
            }
            #expect(unaccounted.isEmpty)
        }
    }
}
