import PreciseTimer
import Testing

/// When one timer ticks, as a value: it is told the time, and says what is due.
final class TimingTests {
    private var timing = Timing()
    private var random = SeededGenerator(seed: 1)

    // MARK: Beginning

    @Test func theFirstDeadlineIsThatOfTheStart() {
        #expect([timing.nextDeadline, timing.lastInstant] == [.max, .max] && ticks(at: .max) == [nil])
        // Those of a period and of a rate, for which nothing is aligned.
        let starts: [(ScheduleStart<UInt64, UInt64>, [UInt64])] = [
            (.after(7), [107, 107]), (.after(.max), [.max, .max]), (.afterOneStep, [130, 130]), (.at(20), [20, 20]),
            (.aligned(to: 5), [125, 5]), (.aligned(to: 1_000), [130, 1_000]), (.never, [.max, .max]),
        ]
        for (start, firsts) in starts {
            let repetitions: [Repetition<UInt64>] = [.every(30), .rate(1, per: 30)]
            let deadlines = repetitions.map { repetition in
                begin(ResolvedSchedule(start, repetition), at: 100)
                return timing.nextDeadline
            }
            #expect(deadlines == firsts, "\(start)")
        }
    }

    @Test func aTimingTellsItsSteps() {
        begin(every(30, from: 30))
        #expect(timing.period == Period(nanoseconds: 30) && timing.leastPeriod == 30 && timing.isRepeating)
        begin(ResolvedSchedule(.afterOneStep, .rate(3, per: 100)))
        #expect(timing.period == Period(nanoseconds: 100, count: 3) && timing.leastPeriod == 33)
        let others: [(ResolvedSchedule, UInt64?, [Bool])] = [
            (ResolvedSchedule(.after(5), .fixedDelay(40)), 40, [false, true]),
            (ResolvedSchedule(.at(5), .computed), nil, [true, true]), (once(at: 5), nil, [false, false]),
        ]
        for (schedule, delay, flags) in others {
            begin(schedule)
            #expect(timing.period == nil && timing.fixedDelay == delay && timing.leastPeriod == .max, "\(schedule)")
            #expect([timing.isComputed, timing.isRepeating] == flags, "\(schedule)")
        }
    }

    @Test func anotherScheduleBeginsAnew() {
        begin(every(10, from: 10))
        #expect(ticks(at: 35) == [due(0, 10, 30, missed: 2)])
        timing.askForExtra(at: 36)
        begin(once(at: 50))
        #expect(ticks(at: 49, 60, .max) == [nil, due(0, 50), nil], "at zero, without the extra tick")
        for delay in [0, 10] as [UInt64] {
            begin(every(10, from: 10))
            begin(ResolvedSchedule(.after(delay), .every(20), .init(count: 2)), at: 100)
            #expect(deadlines(3) == [100 + delay, 120 + delay], "made from the former schedule")
        }
        begin(onDemand)
        begin(every(10, from: 10))
        #expect(timing.isOnDemand && deadlines(2) == [10, 20], "a timing on demand stays so")
    }

    // MARK: Ticking

    @Test(arguments: [(599, 0), (600, 1), (601, 1), (899, 1), (900, 2), (3_600_000_000_300, 12_000_000_000)])
    func missedCountsTheLaterDeadlinesThatHavePassed(now: UInt64, missed: UInt64) {
        let next = 300 * (missed + 2)
        for modifiers in [nil, ResolvedSchedule.Modifiers()] {
            begin(ResolvedSchedule(.at(300), .every(300), modifiers))
            let all = ticks(at: 299, now, next - 1, next)
            #expect(all == [nil, due(0, 300, 300 * (missed + 1), missed: missed), nil, due(missed + 1, next)])
        }
    }

    @Test func theStepsOfARateAreRoundedUpAndDoNotDrift() {
        begin(ResolvedSchedule(.afterOneStep, .rate(3, per: 100)), at: 1_000)
        #expect(deadlines(4) == [1_034, 1_067, 1_100, 1_134])
        #expect(ticks(at: 1_300, 1_333, 1_334) == [due(4, 1_167, 1_300, missed: 4), nil, due(9, 1_334)])
    }

    @Test func aFixedDelayIsUnknownBeforeTheReturn() {
        for modifiers in [nil, ResolvedSchedule.Modifiers(count: 2)] {
            begin(ResolvedSchedule(.at(5), .fixedDelay(10), modifiers))
            #expect(!timing.countsFromReturn && ticks(at: 90) == [due(0, 5)], "no deadline passes before it")
            #expect(timing.nextDeadline == .max && timing.countsFromReturn)
            timing.handlerReturned(at: 100)
            #expect(!timing.countsFromReturn && ticks(at: 109, 110) == [nil, due(1, 110)])
        }
        #expect(timing.isCountedOut && !timing.countsFromReturn, "the last one")
    }

    @Test func numbersAndDeadlinesSaturate() {
        begin(every(.max / 2, from: .max / 2))
        #expect(ticks(at: .max / 2, .max - 1, .max) == [due(0, .max / 2), due(1, .max - 1), nil])
        begin(every(1, from: 0))
        #expect(ticks(at: .max - 1) == [due(0, 0, .max - 1, missed: .max - 2)], "just below the marks")
        begin(ResolvedSchedule(.at(.max - 5), .rate(1, per: 10)))
        #expect(ticks(at: .max, .max) == [due(0, .max - 5), nil] && timing.nextDeadline == .max)
        begin(ResolvedSchedule(.at(1), .fixedDelay(.max)))
        #expect(ticks(at: 1) == [due(0, 1)])
        timing.handlerReturned(at: 2)
        #expect(timing.nextDeadline == .max && !timing.countsFromReturn, "never, and not unknown")
    }

    // MARK: Late ticks

    /// Those that a computed deadline stands for are counted later.
    @Test func withoutABurstATickStandsForAllWhateverIsAskedForAfterwards() {
        for (schedule, tick) in [
            (every(10, from: 10), due(0, 10, 60, missed: 5)),
            (ResolvedSchedule(.at(10), .computed), computed(0, 10)),
        ] {
            begin(schedule)
            #expect(ticks(at: 65) == [tick] && timing.isTheRest)
            timing.askForExtra(at: 65)
            #expect(timing.isTheRest && !timing.catchesUp(at: 65))
        }
    }

    // MARK: Tolerance

    @Test func theLastInstantIsTheDeadlinePlusTheToleranceExactly() {
        let all: [(tolerance: UInt64, deadline: UInt64, lastInstant: UInt64)] = [
            (0, 1_001, 1_001), (1, 1_001, 1_002), (19, 1_001, 1_020), (90_000_007, 1_001, 90_001_008),
            (.max >> 1, 5, .max >> 1 + 5), (.max, 5, .max - 1), (.max, .max - 2, .max - 1),
            (1, .max - 1, .max - 1), (.max, .max, .max), (0, .max, .max),
        ]
        for (tolerance, deadline, lastInstant) in all {
            timing = Timing(tolerance: tolerance)
            begin(once(at: deadline))
            #expect([timing.lastInstant, timing.nextDeadline] == [lastInstant, deadline], "\(tolerance)")
        }
    }

    // MARK: Extra ticks and the end

    @Test(arguments: [(300, 0), (599, 0), (951, 2)], [1, 3])
    func oneTickStandsForTheDeadlinesThatPassedBeforeTheEnd(end: (now: UInt64, missed: UInt64), burstLimit: Int) {
        timing = Timing(burstLimit: burstLimit)
        begin(every(300, from: 300))
        timing.askForExtra(at: end.now)
        timing.finish(at: end.now)
        let last = due(0, 300, 300 * (end.missed + 1), missed: end.missed)
        #expect(ticks(at: 2_000, .max) == [last, nil] && timing.isOver)
    }

    @Test func anExtraTickIsTheLastIfNoDeadlineHasPassed() {
        for schedule in [every(300, from: 300), once(at: 300), onDemand, ResolvedSchedule(.at(300), .fixedDelay(9))] {
            timing = Timing()
            begin(schedule)
            for instant in [100, 200] as [UInt64] { timing.finish(at: instant) }
            #expect(ticks(at: 99, 400, .max) == [nil, extra(0, 100), nil], "finishing again changes nothing")
            #expect(timing.isOver == true, "also a timer on demand")
        }
        timing = Timing()
        begin(ResolvedSchedule(.at(100), .fixedDelay(50)))
        let first = ticks(at: 110)
        timing.finish(at: 120)
        #expect(!timing.countsFromReturn && first + ticks(at: 130, .max) == [due(0, 100), extra(1, 120), nil])
    }

    // MARK: Standing still

    @Test func aHoldMovesAllDeadlinesByItsTime() {
        begin(ResolvedSchedule(.after(10), .every(10), .init(span: 25)), at: 0)
        stand(5, 105)
        #expect(!timing.isFrozen && deadlines(3) == [110, 120], "also the end")
        begin(onDemand)
        stand(5, .max)
        #expect(timing.nextDeadline == .max && timing.remaining(at: 5) == nil, "but not never")
        begin(once(at: 300))
        stand(200, 100)
        #expect(timing.nextDeadline == 300, "by nothing if a wall clock was set back")
        begin(ResolvedSchedule(.at(10), .fixedDelay(50)))
        #expect(ticks(at: 10) == [due(0, 10)])
        timing.freeze(at: 20)
        timing.handlerReturned(at: 30)
        #expect(timing.remaining(at: 500) == 50, "from the return of a handler that ends in it")
        timing.thaw(at: 1_000)
        #expect(timing.nextDeadline == 1_050)
    }

    @Test func aHoldDoesNotMoveAnInstant() {
        let computed = ResolvedSchedule(.at(300), .computed)
        begin(computed)
        timing.freeze(at: 100)
        #expect(!timing.isFrozen && timing.remaining(at: 200) == 100)
        begin(every(10, from: 10))
        timing.freeze(at: 5)
        begin(computed)
        #expect(timing.isFrozen == false, "such a schedule lets the time go on")
    }

    @Test func theTimeThatRemainsIsNeverNegative() {
        begin(once(at: 300))
        #expect([0, 300, 900].map { timing.remaining(at: $0) } == [300, 0, 0])
        timing.askForExtra(at: 100)
        #expect(timing.remaining(at: 50) == 50)
        timing.freeze(at: 50)
        #expect(timing.isFrozen && timing.knownDeadline == .max)
        #expect(timing.remaining(at: 60) == 250, "the extra tick comes afterwards")
        timing.freeze(at: 400)
        #expect(timing.remaining(at: 2_000) == 0)
    }

    // MARK: Restarting, and other steps

    @Test func aRestartBeginsWithTheDelayOrAStep() {
        let schedules: [(ResolvedSchedule, first: [UInt64])] = [
            (ResolvedSchedule(.after(70), .once), [1_070]), (every(300, from: 5), [1_300, 1_600]),
            (ResolvedSchedule(.at(5), .rate(3, per: 100)), [1_034, 1_067, 1_100, 1_134]),
            (ResolvedSchedule(.at(5), .fixedDelay(20)), [1_020]),
            (ResolvedSchedule(.at(5), .every(10), .init(count: 2)), [1_010, 1_020]),
            (ResolvedSchedule(.after(5), .every(10), .init(span: 25)), [1_010, 1_020]),
            (ResolvedSchedule(.after(5), .every(10), .init(span: 5)), [1_010]),
            (ResolvedSchedule(.after(5), .every(10), .init(spread: 1_000)), [1_010, 1_020]),
            // These do not count from their beginning.
            (once(at: 5), []), (onDemand, []), (ResolvedSchedule(.at(5), .computed), []),
        ]
        for (schedule, first) in schedules {
            begin(schedule)
            _ = ticks(at: 500)
            #expect(timing.restart(at: 1_000, using: &random) == !first.isEmpty, "\(schedule)")
            if !first.isEmpty { #expect(deadlines(first.count) == first, "\(schedule)") }
        }
        begin(ResolvedSchedule(.after(10), .fixedDelay(.max)))
        #expect(timing.restart(at: 5, using: &random) && timing.fixedDelay == .max)
        #expect(timing.nextDeadline == .max && !timing.countsFromReturn, "never, and not unknown")
    }

    @Test func aRestartBeginsAtZeroWithoutAnExtraTick() {
        begin(ResolvedSchedule(.at(10), .every(10), .init(count: 2)))
        let first = ticks(at: 25)
        timing.askForExtra(at: 26)
        #expect(timing.restart(at: 30, using: &random) == true)
        #expect(first + ticks(at: 40, 50) == [due(0, 10, 20, missed: 1), due(0, 40), due(1, 50)])
        #expect(timing.isCountedOut == true)
    }

    @Test func onlyATimingWithStepsTakesOthers() {
        for schedule in [onDemand, ResolvedSchedule(.at(10), .computed)] {
            begin(schedule)
            #expect(timing.changeSteps(to: every(10, from: 10), at: 5) == false)
        }
    }

    // MARK: Computed deadlines

    @Test func aComputedDeadlineIsUnknownUntilItIsToldOf() {
        begin(ResolvedSchedule(.at(10), .computed))
        let first = ticks(at: 100)
        #expect(timing.awaitsComputation && timing.nextDeadline == .max && first[0]?.missed == 0)
        timing.advance(to: 110, missed: 4)
        #expect(!timing.awaitsComputation && first + ticks(at: 109, 110) == [computed(0, 10), nil, computed(5, 110)])
        timing.advance(to: nil, missed: 0)
        #expect(timing.nextDeadline == .max && ticks(at: .max) == [nil])
        begin(ResolvedSchedule(.at(10), .computed, .init(count: 1)))
        // The last tick stands for the deadlines that have passed, which are computed, too.
        #expect(ticks(at: 10) == [computed(0, 10)] && timing.awaitsComputation && timing.isCountedOut)
    }

    @Test(arguments: [nil, ResolvedSchedule.Modifiers()])
    func aDeadlineThatIsComputedAnewKeepsItsNumber(modifiers: ResolvedSchedule.Modifiers?) {
        begin(ResolvedSchedule(.at(10), .computed, modifiers))
        let first = ticks(at: 10)
        timing.advance(to: 20, missed: 0)
        timing.move(to: 15)
        #expect(first + ticks(at: 15) == [computed(0, 10), computed(1, 15)])
    }

    /// If the next deadline had passed by then, its tick is the last one; if not, an extra tick is.
    @Test(arguments: [(40, computed(1, 40)), (60, extra(1, 50))] as [(UInt64, Expiration)])
    func aFinishWhileADeadlineIsComputedLeavesOneTick(next: UInt64, last: Expiration) {
        begin(ResolvedSchedule(.at(10), .computed))
        let first = ticks(at: 20)
        timing.finish(at: 50)
        timing.advance(to: next, missed: 0)
        #expect(first + ticks(at: 70) == [computed(0, 10), last])
        timing.advance(to: 80, missed: 0)
        #expect(timing.nextDeadline == .max)
    }

    // MARK: Random lengths and the end

    @Test func aSpreadMovesAllDeadlinesAlikeAndAJitterEachByItself() {
        var firsts: Set<UInt64> = []
        for _ in 0..<200 {
            begin(ResolvedSchedule(.after(100), .every(30), .init(spread: 9)), at: 1_000)
            let all = deadlines(3)
            firsts.insert(all[0])
            #expect(all == [all[0], all[0] + 30, all[0] + 60])
        }
        #expect(firsts == Set(1_100...1_109))
        begin(ResolvedSchedule(.at(0), .every(100), .init(jitter: 9)))
        let delays = deadlines(300).enumerated().map { $1 - UInt64($0) * 100 }
        #expect(Set(delays) == Set(0...9), "the grid stays")
    }

    // MARK: Helpers

    private func begin(_ schedule: ResolvedSchedule, at now: UInt64 = 0) {
        timing.begin(schedule, at: now, using: &random)
    }

    private func stand(_ start: UInt64, _ end: UInt64) {
        timing.freeze(at: start)
        timing.thaw(at: end)
    }

    /// What is due at some instants.
    private func ticks(at instants: UInt64...) -> [Expiration?] { instants.map { timing.takeTick(at: $0) } }

    /// The next deadlines, each of which has its tick at once.
    private func deadlines(_ count: Int) -> [UInt64] {
        (0..<count).compactMap { _ in timing.takeTick(at: timing.nextDeadline)?.deadline }
    }
}

private func due(_ index: UInt64, _ deadline: UInt64, _ latest: UInt64? = nil, missed: UInt64 = 0) -> Expiration {
    Expiration(index: index, deadline: deadline, span: latest.map { $0 - deadline } ?? 0, missed: missed)
}

private func computed(_ index: UInt64, _ deadline: UInt64) -> Expiration {
    Expiration(index: index, deadline: deadline, isComputed: true)
}

private func extra(_ index: UInt64, _ deadline: UInt64) -> Expiration {
    Expiration(index: index, deadline: deadline, isExtra: true)
}
