import PreciseTimer
import Testing

@testable import PreciseTimer

/// The scheduler's decisions about deadlines and the alarm, on plain numbers.
final class SchedulerTests {
    private var scheduler = Scheduler()

    @Test func onlyATimerThatIsEarlierThanAllOthersSetsTheAlarm() {
        let orders = [500, 500, 700, 499, .max].map { scheduler.add(every(1_000, from: $0)).alarm }
        #expect(orders == [.set(500), .leave, .leave, .set(499), .leave])
    }

    @Test(arguments: [nil, 300] as [UInt64?])
    func anEarlyFiringFindsNothingAndSetsTheAlarmAgain(period: UInt64?) {
        let timer = scheduler.add(every(300, from: 300)).timer
        if let period { scheduler.alarmGoesOn(every: period) }
        #expect(scheduler.firing(at: 299) == Firing(alarm: .set(300)))
        if let period { scheduler.alarmGoesOn(every: period) }
        _ = scheduler.pause(timer)
        #expect(scheduler.firing(at: 299) == Firing(alarm: period == nil ? .leave : .disarm), "no timer waits")
    }

    /// A round may take longer than the period of the alarm, which does not make the alarm silent.
    @Test func anAlarmIsOverdueOnlyBetweenRounds() {
        let timer = scheduler.add(every(10, from: 10)).timer
        scheduler.alarmGoesOn(every: 10)
        #expect([9, 10].map { scheduler.overdue(at: $0) } == [nil, 10])
        for (late, next) in [(12, 20), (45, 50)] as [(UInt64, UInt64)] {
            #expect(scheduler.take(at: late) == timer && scheduler.overdue(at: 1_000) == nil, "the round is not over")
            #expect(scheduler.begin(timer, at: late) != nil)
            #expect(
                [scheduler.putBack(timer, decidedAt: late, now: late), scheduler.endRound(at: late)] == [
                    .leave, .leave,
                ]
            )
            #expect([next - 1, next + 5].map { scheduler.overdue(at: $0) } == [nil, next])
        }
    }

    @Test func dueTimersTickInOrderOfDeadlineAndThenOfScheduling() {
        let timers = [20, 10, 20, 10].map { scheduler.add(once(at: $0)).timer }
        let (firing, inOrder) = (scheduler.firing(at: 25), [1, 3, 0, 2].map { timers[$0] })
        #expect(firing.ticks.map(\.timer) == inOrder && firing.completed == inOrder)
        #expect(scheduler.count == 0 && timers.allSatisfy { $0.ending == .completed })
        let others = (0..<50).map { _ in scheduler.add(every(10, from: 30)).timer }
        for round in 3...22 {
            #expect(scheduler.firing(at: UInt64(round) * 10).ticks.map(\.timer) == others)
        }
    }

    @Test func aDeliveryThatEndsAfterTheRoundSetsTheAlarm() {
        let timer = scheduler.add(every(100, from: 10)).timer
        #expect(scheduler.take(at: 10) == timer)
        #expect(scheduler.endRound(at: 10) == .leave, "the only timer is still on its way")
        #expect(scheduler.begin(timer, at: 15) != nil)
        #expect(scheduler.putBack(timer, decidedAt: 15, now: 20) == .set(110))
    }

    @Test func aClockSetBackBeforeTheHandlerIsCalledMakesNoTickEarly() {
        let timer = scheduler.add(every(100, from: 100)).timer
        #expect(scheduler.take(at: 100) == timer && scheduler.begin(timer, at: 40) == nil)
        #expect([scheduler.putBack(timer, decidedAt: 40, now: 40), scheduler.endRound(at: 40)] == [.leave, .set(40)])
        #expect(scheduler.firing(at: 100).ticks == [Ticked(timer, 0, 100)])
    }

    /// No alarm may fire twice at once. If one does, or if a service was started again meanwhile, both handlers run.
    @Test func twoRoundsThatOverlapCallATimerEach() {
        let timers = [10, 11, 12, 13].map { scheduler.add(every(100, from: $0)).timer }
        for instant in [14, 15, 16] as [UInt64] {
            scheduler.beginRound(at: instant)
            #expect(scheduler.firstDue().flatMap { scheduler.begin($0, at: instant) } != nil)
        }
        let running = Set((0..<scheduler.runningCount).map { ObjectIdentifier(scheduler.running(at: $0)) })
        #expect(running == Set(timers[..<3].map { ObjectIdentifier($0) }))
        scheduler.beginRound(at: 17)
        #expect(timers.map { scheduler.runningSince($0) } == [17, 15, 16, nil], "the first as of its round")
        for timer in timers[..<3] { #expect(scheduler.putBack(timer, decidedAt: 14, now: 17) == .leave) }
        #expect(scheduler.runningCount == 0 && scheduler.takeNext() == timers[3] && scheduler.brokenInvariant == nil)
    }

    /// It came due by then, but another timer is called first.
    @Test func aTimerThatReturnsDuringALaterRoundWaitsForTheNext() {
        let timer = scheduler.add(every(5, from: 10)).timer
        scheduler.beginRound(at: 12)
        #expect(scheduler.firstDue() == timer && scheduler.begin(timer, at: 12) != nil)
        let other = scheduler.add(once(at: 8)).timer
        #expect(scheduler.take(at: 20) == other)
        #expect(scheduler.putBack(timer, decidedAt: 12, now: 20) == .leave)
        #expect(scheduler.nextDue() == nil && scheduler.endRound(at: 20) == .set(20))
    }

    @Test func aTimerThatIsDueAgainAndAgainLeavesTheOthersTheirTurn() {
        let (greedy, other) = (scheduler.add(once(at: 1)).timer, scheduler.add(once(at: 10)).timer)
        let firing = scheduler.firing(at: 20) { scheduler, ticked in
            if ticked.timer == greedy { _ = scheduler.reschedule(greedy, on: once(at: 1)) }
        }
        #expect(firing.ticks.map(\.timer) == [greedy, other] && firing.alarm == .set(20))
    }
}

/// A tolerance lets timers share a wake-up, and makes no tick later than it allows.
final class ToleranceTests {
    private var scheduler = Scheduler()

    /// A thousand deadlines over 3 ms, with a round at each wake time of the scheduler.
    @Test(arguments: [
        ([0], 901...1_000), ([100_000], 28...40), ([200_000, 1_000], 1...600), ([77, 0, 199_999], 1...900),
    ])
    func roundsAreSharedWithinTheToleranceInOrderOfLastInstants(tolerances: [Int], rounds: ClosedRange<Int>) {
        let tolerance = { UInt64(tolerances[$0 % tolerances.count]) }
        var (random, timers) = (SeededGenerator(seed: 11), [TimerRecord]())
        for number in 0..<1_000 {
            let deadline = UInt64.random(in: 1...3_000_000, using: &random)
            timers.append(scheduler.add(once(at: deadline), tolerance: tolerance(number)).timer)
        }
        let lastInstants = timers.reduce(into: [:]) { instants, timer in
            instants[ObjectIdentifier(timer)] = timer.timing.lastInstant
        }
        var (count, ticks) = (0, 0)
        while let now = scheduler.nextWakeTime {
            let round = scheduler.firing(at: now).ticks
            (count, ticks) = (count + 1, ticks + round.count)
            let inOrder = round.map { lastInstants[ObjectIdentifier($0.timer)] ?? 0 }
            let areInTime = round.allSatisfy { tick in
                let latest = tick.due.deadline + tolerance(timers.firstIndex(of: tick.timer) ?? 0)
                return (tick.due.deadline...latest).contains(now)
            }
            #expect(inOrder == inOrder.sorted() && inOrder.first == now && areInTime)
        }
        #expect(rounds.contains(count) && ticks == 1_000)
    }

    @Test func ofTwoTimersTheOneThatMustTickFirstDoesAndTheOtherSharesItsRound() {
        let (tolerant, exact) = (scheduler.add(once(at: 10), tolerance: 64).timer, scheduler.add(once(at: 50)).timer)
        #expect(scheduler.nextWakeTime == 50 && scheduler.firing(at: 50).ticks.map(\.timer) == [exact, tolerant])
    }

    /// It wakes the thread in time for all that come after it, also for those that are due.
    @Test func aRoundStopsAtTheFirstTimerThatMustWait() {
        let timers = [(40, 0), (41, 16), (10, 64)]
            .map { deadline, tolerance in
                scheduler.add(once(at: deadline), tolerance: tolerance).timer
            }
        #expect(
            scheduler.firing(at: 40)
                == Firing(ticks: [Ticked(timers[0], 0, 40)], completed: [timers[0]], alarm: .set(57))
        )
        #expect(scheduler.firing(at: 57).ticks.map(\.timer) == [timers[1], timers[2]])
    }

    @Test func aPostponedTimerDoesNotStopARound() {
        let timers = [(20, 16), (10, 64)].map { scheduler.add(once(at: $0), tolerance: $1).timer }
        #expect(scheduler.reschedule(timers[0], on: once(at: 100)) == .leave)
        #expect(scheduler.firing(at: 36).ticks.map(\.timer) == [timers[1]])
    }

    /// Rules are an object more, and a longer way back into the queue.
    @Test(arguments: [0, 64, .max] as [UInt64])
    func aToleranceTakesNoRules(tolerance: UInt64) {
        let policies: [LatePolicy] = [.skip, .catchUp(limit: 2)]
        let timers = policies.map { scheduler.add(every(1_000, from: 1_000), policy: $0, tolerance: tolerance).timer }
        #expect(timers.map { $0.timing.isAhead(of: 999) } == [true, false])
    }

    @Test func anExtraTickHasNoToleranceAndEndsThatOfADueTick() {
        let timer = scheduler.add(every(1_000, from: 1_000), tolerance: 64).timer
        #expect(scheduler.nextWakeTime == 1_064 && scheduler.fire(timer, at: 100) == .set(100))
        let extra = Firing(ticks: [Ticked(timer, 0, 100, isExtra: true)], alarm: .set(1_064))
        #expect(scheduler.firing(at: 100) == extra)
        #expect(scheduler.fire(timer, at: 1_010) == .set(1_010) && scheduler.nextWakeTime == 1_010)
        #expect(scheduler.firing(at: 1_010).ticks == [Ticked(timer, 0, 1_000)])
    }

    /// The instant of the request may be before that of the round: its thread read the clock, and then waited for the
    /// lock.
    @Test func anExtraTickTakesNoTurnFromATimerThatIsDueInTheRound() {
        let (first, timer) = (scheduler.add(once(at: 5)).timer, scheduler.add(once(at: 10), tolerance: 64).timer)
        let firing = scheduler.firing(at: 70) { scheduler, ticked in
            if ticked.timer == first { _ = scheduler.fire(timer, at: 60) }
        }
        #expect(firing.ticks == [Ticked(first, 0, 5), Ticked(timer, 0, 10)])
        let extra = Ticked(timer, 1, 60, isExtra: true)
        #expect(scheduler.firing(at: 70) == Firing(ticks: [extra], completed: [timer]))
    }

    /// An alarm that repeats by itself would fire at deadlines.
    @Test func anAlarmDoesNotRepeatForATimerWithATolerance() {
        let timers: [(UInt64, UInt64)] = [(1_000, 64), (1_070, 0), (1_020, 0)]
        let periods = timers.map { deadline, tolerance in
            _ = scheduler.add(every(1_000, from: deadline), tolerance: tolerance)
            return scheduler.periodFromNext
        }
        #expect(periods == [nil, nil, 1_000])
    }
}
