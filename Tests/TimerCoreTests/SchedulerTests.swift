import Testing

@testable import PreciseTimer

/// The scheduler's decisions on plain numbers. Here is what neither the model of the public interface meets nor the
/// small worlds: rounds that overlap, repeating alarms, batches of work, and the end of time.
final class SchedulerTests {
    private var scheduler = Scheduler()

    // MARK: Rounds

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

    /// The instant of the request may be before that of the round: its thread read the clock, and then waited for the
    /// lock.
    @Test(arguments: ["fire", "finish", "other steps"])
    func aRequestTakesNoTurnFromATimerThatIsDueInTheRound(request: String) {
        let (first, timer) = (scheduler.add(once(at: 5)).timer, scheduler.add(every(99, from: 10), tolerance: 64).timer)
        let firing = scheduler.firing(at: 70) { scheduler, ticked in
            if ticked.timer != first { return }
            switch request {
            case "fire": _ = scheduler.fire(timer, at: 60)
            case "finish": _ = scheduler.finish(timer, at: 60)
            default: _ = scheduler.changeSteps(timer, to: every(200, from: 0), at: 60)
            }
        }
        #expect(firing.ticks == [Ticked(first, 0, 5), Ticked(timer, 0, 10)])
    }

    @Test func aRoundAtTheEndOfTimeEnds() {
        scheduler.beginRound(at: .max)
        #expect(scheduler.firstDue() == nil && !scheduler.hasDue)
    }

    /// A rare part is an object more, and a longer way back into the queue.
    @Test(arguments: [0, 64, .max] as [UInt64])
    func aToleranceTakesNoRarePart(tolerance: UInt64) {
        let timers = [1, 2].map { scheduler.add(every(1_000, from: 1_000), burstLimit: $0, tolerance: tolerance).timer }
        #expect(timers.map { $0.timing.isAhead(of: 999) } == [true, false])
    }

    // MARK: The alarm

    /// A round may take longer than the period of the alarm, which does not make the alarm silent.
    @Test func anAlarmIsOverdueOnlyBetweenRounds() {
        let timer = scheduler.add(every(10, from: 10)).timer
        scheduler.alarmGoesOn(every: 10)
        for (late, next) in [(12, 20), (45, 50)] as [(UInt64, UInt64)] {
            #expect(scheduler.take(at: late) == timer && scheduler.overdue(at: 1_000) == nil, "the round is not over")
            #expect(scheduler.begin(timer, at: late) != nil)
            let orders = [scheduler.putBack(timer, decidedAt: late, now: late), scheduler.endRound(at: late)]
            #expect(orders == [.leave, .leave])
            #expect([next - 1, next, next + 5].map { scheduler.overdue(at: $0) } == [nil, next, next])
        }
    }

    /// Whatever the clock shows by then.
    @Test(arguments: [(40, 40), (150, 100)] as [(now: UInt64, alarm: UInt64)])
    func theAlarmFiresAtOnceForADeferredTimer(clock: (now: UInt64, alarm: UInt64)) {
        let timer = scheduler.add(onDemand).timer
        scheduler.beginRound(at: 100)
        _ = scheduler.reschedule(timer, on: once(at: 100))
        #expect(scheduler.firstDue() == nil && scheduler.endRound(at: clock.now) == .set(clock.alarm))
    }

    @Test func onlyATimerThatIsEarlierThanAllOthersSetsTheAlarm() {
        let orders = [300, 300, 9_000, 200].map { scheduler.add(every(1_000, from: $0)).alarm }
        #expect(orders == [.set(300), .leave, .leave, .set(200)])
    }

    /// An alarm that repeats by itself would fire between the deadlines, or at deadlines instead of last instants.
    @Test func theAlarmRepeatsOnlyForWholePeriodsWithNothingBesides() {
        let timer = scheduler.add(every(300, from: 300)).timer
        let schedules = [
            every(300, from: 300), ResolvedSchedule(.afterOneStep, .rate(3, per: 900)),
            ResolvedSchedule(.after(300), .every(300), .init(span: 900)),
            ResolvedSchedule(.after(300), .every(300), .init(jitter: 10)), every(300, from: 300),
        ]
        let periods = schedules.map { schedule in
            _ = scheduler.reschedule(timer, on: schedule)
            return scheduler.periodFromNext
        }
        #expect(periods == [300, nil, nil, nil, 300])
        #expect(scheduler.end(timer) && scheduler.firing(at: 301) == Firing())
        // The alarm is still set for the timer that has ended.
        _ = scheduler.add(every(1_000, from: 1_000), tolerance: 64)
        let other = scheduler.add(once(at: 1_000)).timer
        #expect(scheduler.end(other) && scheduler.periodFromNext == nil)
    }

    // MARK: Finishing

    /// It was asked for an extra tick before its deadline, and finished afterwards. A timer before it must wait.
    @Test func theLastTickIsOneAndComesAtOnceAlsoAfterAnExtraOneWasAskedFor() {
        _ = scheduler.add(every(1_000, from: 1_000))
        let timer = scheduler.add(once(at: 300), tolerance: 5_000).timer
        #expect(scheduler.pause(timer) && scheduler.fire(timer, at: 100) == .leave)
        #expect(scheduler.resume(timer, at: 400) == .set(100) && scheduler.finish(timer, at: 400) == .leave)
        let last = Firing(ticks: [Ticked(timer, 0, 300)], completed: [timer], alarm: .set(1_000))
        #expect(scheduler.firing(at: 400) == last)
    }
}

/// However many timers there are, no method does more than one batch of work per call.
final class SchedulerBatchTests {
    private var scheduler = Scheduler()

    @Test func aThousandPostponedOrClosedTimersAreSkippedInBatches() {
        addPostponed(500, at: 10, to: 500)
        #expect(asks(at: 10) == 500 / Scheduler.batch && scheduler.endRound(at: 10) == .set(500))
        for _ in 0..<500 { _ = scheduler.add(once(at: 10)) }
        scheduler.close()
        let newer = scheduler.add(once(at: 500)).timer
        #expect(asks(at: 500) == 1_000 / Scheduler.batch && newer.stage == .dispatched)
    }

    /// A batch may find only timers that were postponed. Nothing is due then, and others are left. Timers that came due
    /// during the former round are not in their way.
    @Test(arguments: [(1, asks: 1), (64, asks: 0)] as [(UInt64, asks: Int)])
    func aTimerBehindAHundredPostponedOnesHasItsTurnInTheSameRound(formerRound: UInt64, asks count: Int) {
        scheduler.beginRound(at: formerRound)
        let postponed = (0..<100).map { _ in scheduler.add(once(at: 10)).timer }
        let timer = scheduler.add(once(at: 11)).timer
        #expect(scheduler.endRound(at: 10) == .set(10))
        for timer in postponed { #expect(scheduler.reschedule(timer, on: once(at: 1_000)) == .leave) }
        #expect(asks(at: 64) == count && timer.stage == .dispatched)
    }

    /// They came due during the former round, as it did, and may wait.
    @Test func aTimerBehindAHundredTolerantOnesHasItsTurnInTheSameRound() {
        scheduler.beginRound(at: 64)
        let timer = scheduler.add(once(at: 11)).timer
        for _ in 0..<100 { _ = scheduler.add(once(at: 10), tolerance: 1_000) }
        #expect(scheduler.endRound(at: 64) == .set(64))
        #expect(asks(at: 64) == 1 && timer.stage == .dispatched)
    }

    /// An early firing finds a hundred postponed timers. The alarm must not fire for them again.
    @Test func theEndOfARoundMovesPostponedTimersToTheirPlace() {
        addPostponed(100, at: 10, to: 500)
        #expect(asks(at: 5) == 0 && scheduler.endRound(at: 5) == .set(500))
    }

    @Test func afterABatchOfLateTicksOtherDueTimersGetTheirTurn() {
        let slow = scheduler.add(every(1, from: 1), burstLimit: 1_000).timer
        let (other, batch) = (TimerRecord(), UInt64(Scheduler.batch))
        let first = scheduler.firing(at: 200) { scheduler, ticked in
            if ticked.due.index == 0 { _ = scheduler.add(other, on: once(at: 2)) }
        }
        #expect(first == Firing(ticks: (0...batch).map { Ticked(slow, $0, $0 + 1) }, alarm: .set(200)), "at once")
        let second = (batch + 1...2 * batch + 1).map { Ticked(slow, $0, $0 + 1) }
        #expect(scheduler.firing(at: 200).ticks == [Ticked(other, 0, 2)] + second)
    }

    /// Adds timers that are postponed before their first deadline.
    private func addPostponed(_ count: Int, at first: UInt64, to deadline: UInt64) {
        for timer in (0..<count).map({ _ in scheduler.add(once(at: first)).timer }) {
            #expect(scheduler.reschedule(timer, on: once(at: deadline)) == .leave)
        }
    }

    /// How often a round must ask again before it finds a turn, or finds that all turns are over.
    private func asks(at now: UInt64) -> Int {
        scheduler.beginRound(at: now)
        var asks = 0
        while true {
            if let timer = scheduler.firstDue() {
                scheduler.send(timer)
                return asks
            }
            if !scheduler.hasDue { return asks }
            asks += 1
        }
    }
}

/// After a close, the present timers are ended one by one and do not tick. Newer timers keep ticking.
final class SchedulerCloseTests {
    private var scheduler = Scheduler()

    @Test func anAlarmRepeatsForNoClosedTimer() {
        _ = scheduler.add(every(10, from: 25))
        scheduler.close()
        let (newer, order) = scheduler.add(every(10, from: 15))
        #expect(order == .set(15) && scheduler.periodFromNext == 10)
        scheduler.alarmGoesOn(every: 10)
        #expect(scheduler.end(newer) && scheduler.firing(at: 15) == Firing(alarm: .disarm))
        #expect(scheduler.add(once(at: 50)).alarm == .set(50) && scheduler.periodFromNext == nil)
    }

    @Test func aRequestToAClosedTimerGivesNoOrder() {
        let timers = (0..<3).map { scheduler.add(once(at: 10 + 10 * UInt64($0))).timer }
        _ = scheduler.pause(timers[2])
        scheduler.close()
        #expect(scheduler.add(once(at: 90)).alarm == .set(90))
        let orders = [
            scheduler.fire(timers[0], at: 5), scheduler.reschedule(timers[1], on: once(at: 6)),
            scheduler.resume(timers[2], at: 0),
        ]
        #expect(orders == [.leave, .leave, .leave])
    }
}

// Schedules, timers of nobody, and firings of the alarm.

/// Deadlines a period apart.
func every(_ period: UInt64, from origin: UInt64) -> ResolvedSchedule { ResolvedSchedule(.at(origin), .every(period)) }

/// One deadline.
func once(at nanoseconds: UInt64) -> ResolvedSchedule { ResolvedSchedule(.at(nanoseconds), .once) }

/// No deadline until the timer is rescheduled.
let onDemand = ResolvedSchedule(.never, .onDemand)

extension TimerRecord {
    /// A timer of nobody.
    convenience init(burstLimit: Int = 1, tolerance: UInt64 = 0) {
        self.init(Timing(burstLimit: burstLimit, tolerance: tolerance))
    }
}

/// Timers are compared by identity.
extension TimerRecord: Equatable {
    static func == (left: TimerRecord, right: TimerRecord) -> Bool { left === right }
}

/// A tick and its timer.
struct Ticked: Equatable {
    let timer: TimerRecord
    let due: Expiration
}

extension Ticked {
    init(_ timer: TimerRecord, _ index: UInt64, _ deadline: UInt64) {
        self.init(timer: timer, due: Expiration(index: index, deadline: deadline))
    }
}

/// The results of one firing of the alarm.
struct Firing: Equatable {
    var ticks: [Ticked] = []
    var completed: [TimerRecord] = []
    var alarm: AlarmOrder = .leave
}

extension Scheduler {
    /// Creates a timer and adds it.
    mutating func add(
        _ schedule: ResolvedSchedule,
        burstLimit: Int = 1,
        tolerance: UInt64 = 0
    ) -> (timer: TimerRecord, alarm: AlarmOrder) {
        let timer = TimerRecord(burstLimit: burstLimit, tolerance: tolerance)
        return (timer, add(timer, on: schedule))
    }

    /// Adds a timer on a schedule that begins at an instant.
    mutating func add(_ timer: TimerRecord, on schedule: ResolvedSchedule) -> AlarmOrder { add(timer, schedule, at: 0) }

    /// Reschedules a timer to a schedule that begins at an instant.
    mutating func reschedule(_ timer: TimerRecord, on schedule: ResolvedSchedule) -> AlarmOrder? {
        reschedule(timer, schedule, at: 0)
    }

    /// Cancels a timer.
    mutating func end(_ timer: TimerRecord) -> Bool { end(timer, .cancelled) != nil }

    /// The timer whose turn is next, even if the scheduler must be asked several times.
    mutating func nextDue() -> TimerRecord? {
        while true {
            if let timer = firstDue() { return timer }
            if !hasDue { return nil }
        }
    }

    /// Sends the timer whose turn is next on its way.
    mutating func takeNext() -> TimerRecord? {
        let timer = nextDue()
        if let timer { send(timer) }
        return timer
    }

    /// The first due timer of a round, which is sent on its way.
    mutating func take(at now: UInt64) -> TimerRecord? {
        beginRound(at: now)
        return takeNext()
    }

    /// One firing of the alarm. Each handler is called at once, runs `handler` and returns at once.
    mutating func firing(at now: UInt64, handler: (inout Scheduler, Ticked) -> Void = { _, _ in }) -> Firing {
        var firing = Firing()
        beginRound(at: now)
        while let timer = nextDue() {
            if let due = begin(timer, at: now) {
                firing.ticks.append(Ticked(timer: timer, due: due))
                handler(&self, Ticked(timer: timer, due: due))
            }
            if putBack(timer, decidedAt: now, now: now) == nil, end(timer, .completed) != nil {
                firing.completed.append(timer)
            }
        }
        firing.alarm = endRound(at: now)
        return firing
    }
}
