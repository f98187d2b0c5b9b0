import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

/// Schedules whose deadlines a function computes: what the function answers and when it is asked, what it does
/// meanwhile, and the watch of the wall clock.
struct ComputedTests {
    private let virtual = VirtualTime()
    private let log = Log()

    private func schedule(
        _ policy: PreciseTimer.MissedTickPolicy = .skip,
        _ next: @escaping @Sendable (TimerInstant) -> TimerInstant?
    ) throws -> PreciseTimer {
        try PreciseTimer.schedule(.computed("computed", next), on: virtual.service, missedTicks: policy, target: log) {
            $0.note($1)
        }
    }

    /// The deadlines of the ticks, in seconds since the start.
    private var deadlines: [Int] {
        log.ticks.map { Int(TimerInstant(nanoseconds: 1_000_000_000).duration(to: $0.deadline) / .seconds(1)) }
    }

    // MARK: Answers

    @Test(arguments: ["the same", "earlier", "never", "another clock"])
    func anAnswerThatIsNoLaterInstantOfTheClockIsNone(kind: String) throws {
        let answer = { @Sendable (instant: TimerInstant) -> TimerInstant in
            switch kind {
            case "the same": instant
            case "earlier": instant.advanced(by: .seconds(-1))
            case "never": .never(on: instant.clock)
            default: TimerInstant(nanoseconds: instant.nanoseconds + 1_000_000_000, clock: .wall)
            }
        }
        let error = #expect(throws: TimerError.self) { _ = try schedule { answer($0) } }
        #expect(error?.code == .invalidSchedule)
        let asked = Count()
        let timer = try schedule { asked.add(1) == 1 ? $0.advanced(by: .seconds(1)) : answer($0) }
        virtual.advance(by: .seconds(10))
        #expect(deadlines == [1])
        #expect(timer.state == .ended(.completed))
    }

    @Test func aDeadlineThatIsReachedExactlyIsCountedAsPassed() throws {
        _ = try schedule { $0.advanced(by: .seconds(1)) }
        virtual.jump(by: .seconds(3))
        #expect(log.ticks.map(\.missed) == [2])
    }

    /// The second deadline passes exactly at the first tick, whose handler takes two more.
    @Test func aDeadlineThatPassesWithTheTickIsPartOfTheBurst() throws {
        let (virtual, log) = (virtual, log)
        try PreciseTimer.schedule(
            .computed { $0.advanced(by: .seconds(1)) },
            on: virtual.service,
            missedTicks: .catchUp(limit: 2),
            target: log
        ) { log, tick in
            log.note(tick)
            if log.count == 1 { virtual.advance(by: .milliseconds(2_500)) }
        }
        virtual.jump(by: .seconds(2))
        virtual.advance(by: .zero)
        #expect(deadlines == [1, 2])
        #expect(log.ticks.map(\.missed) == [0, 2])
    }

    // MARK: What happens while the function runs

    @Test func aScheduleGivenWhileTheNextDeadlineIsComputedStays() throws {
        let (timer, asked) = (Box<PreciseTimer>(), Count())
        timer.value = try schedule { instant in
            if asked.add(1) == 2 { try? timer.value?.reschedule(.computed { $0.advanced(by: .seconds(10)) }) }
            return instant.advanced(by: .seconds(1))
        }
        virtual.advance(by: .seconds(1))
        #expect(timer.value?.nextDeadline == virtual.now.advanced(by: .seconds(10)))
        virtual.advance(by: .seconds(10))
        #expect(deadlines == [1, 11])
        #expect(log.ticks.map(\.index) == [0, 0])
        timer.value = nil
    }

    @Test func aNewScheduleDropsAnExtraTickThatWasAskedFor() throws {
        let timer = try schedule { $0.advanced(by: .seconds(9)) }
        timer.fire()
        try timer.reschedule(.computed { $0.advanced(by: .seconds(5)) })
        virtual.advance(by: .seconds(5))
        #expect(log.ticks.map(\.isExtra) == [false])
        #expect(deadlines == [5])
    }

    /// While a service is being shut down, timers that are not yet ended take no other schedule.
    @Test(arguments: [false, true]) func aServiceThatIsShuttingDownTakesNoSchedule(isComputed: Bool) throws {
        let (timers, taken, service) = (Notes<PreciseTimer>(), Count(), virtual.service)
        for _ in 0..<300 {
            let schedule: PreciseTimer.Schedule =
                isComputed ? .computed { $0.advanced(by: .seconds(9)) } : .every(.seconds(9))
            let timer = try PreciseTimer.schedule(
                schedule,
                on: service,
                target: log,
                onEnd: { _ in for timer in timers.all where (try? timer.reschedule(schedule)) != nil { taken.add(1) } },
                handler: { $0.note($1) }
            )
            timers.append(timer)
        }
        service.shutdown()
        #expect(taken.value == 0)
        #expect(service.pendingCount == 0)
    }

    // MARK: The watch of the clock

    /// An alarm with a wall clock of its own, which the test sets, and whose watches it calls and ends.
    private final class WallAlarm: SteppingAlarm {
        private struct Watch {
            let look: @Sendable (ClockChanges) -> Void
            let end: @Sendable () -> Void
        }

        private struct State {
            var now = TimerInstant(nanoseconds: 1_000_000_000_000_000, clock: .wall)
            var settings: [TimerInstant?] = []
            var onFire: (@Sendable () -> Void)?
        }

        private let state = Lock(State())
        private let watches = Notes<Watch>()
        let (looks, stops) = (Count(), Count())

        var now: TimerInstant { state.withLock { $0.now } }
        var settings: [TimerInstant?] { state.withLock { $0.settings } }
        var watchCount: Int { watches.all.count }

        func move(by duration: Duration) { state.withLock { $0.now = $0.now.advanced(by: duration) } }
        func fire() { state.withLock { $0.onFire }?() }
        func look() {
            for watch in watches.all {
                watch.look(ClockChanges())
                looks.add(1)
            }
        }
        var wasLookedAt: Bool { looks.value > 0 }
        func endWatches() { for watch in watches.all { watch.end() } }

        func start(onFire: @escaping @Sendable () -> Void, onFailure: @escaping @Sendable (TimerError) -> Void) {
            state.withLock { $0.onFire = onFire }
        }

        func set(_ deadline: TimerInstant?) { state.withLock { $0.settings.append(deadline) } }

        func stop() {}

        func watchClock(
            _ onCheck: @escaping @Sendable (ClockChanges) -> Void,
            onEnd: @escaping @Sendable () -> Void
        ) -> @Sendable () -> Void {
            watches.append(Watch(look: onCheck, end: onEnd))
            return { [stops] in stops.add(1) }
        }
    }

    private let alarm = WallAlarm()

    private func watched(
        on service: TimerService,
        _ next: @escaping @Sendable (TimerInstant) -> TimerInstant?
    ) throws -> PreciseTimer {
        try PreciseTimer.schedule(.computed("computed", next), on: service, target: log) { $0.note($1) }
    }

    @Test func aWatchThatHasEndedIsReplacedForTheNextTimer() throws {
        let service = try TimerService(alarm: alarm)
        for _ in 0..<2 { _ = try watched(on: service) { $0.advanced(by: .seconds(9)) } }
        #expect(alarm.watchCount == 1, "one for all timers")
        alarm.endWatches()
        _ = try watched(on: service) { $0.advanced(by: .seconds(9)) }
        #expect(alarm.watchCount == 2)
    }

    @Test func theWatchGoesOnForTheOtherTimersAndEndsWithTheLast() throws {
        let (service, isShort) = (try TimerService(alarm: alarm), Box<Bool>())
        let timers = try (0..<3)
            .map { _ in try watched(on: service) { $0.advanced(by: .seconds(isShort.value == true ? 2 : 9)) } }
        timers[0].cancel()
        #expect(alarm.stops.value == 0)
        isShort.value = true
        alarm.look()
        let soon = alarm.now.advanced(by: .seconds(2))
        #expect(timers.map(\.nextDeadline) == [nil, soon, soon], "all are computed anew")
        timers[1].cancel()
        timers[2].cancel()
        #expect(alarm.stops.value == 1)
    }

    @Test func aTimerThatCannotBeAddedIsNotWatched() throws {
        let service = try TimerService(alarm: alarm)
        service.shutdown()
        #expect(throws: TimerError.self) { _ = try watched(on: service) { $0.advanced(by: .seconds(9)) } }
        #expect(alarm.stops.value == alarm.watchCount)
    }

    /// The answer changes, and the clock is looked at, while the next deadline is computed.
    @Test func aLookWhileTheNextDeadlineIsComputedIsNotLostAndIsOver() throws {
        let (service, asked, alarm) = (try TimerService(alarm: alarm), Count(), alarm)
        let timer = try watched(on: service) { instant in
            let isShort = asked.add(1) >= 3
            if asked.value == 2 { alarm.look() }
            return instant.advanced(by: .seconds(isShort ? 2 : 9))
        }
        alarm.move(by: .seconds(9))
        alarm.fire()
        #expect(timer.nextDeadline == alarm.now.advanced(by: .seconds(2)), "it was asked once more")
        #expect(asked.value == 3)
        alarm.move(by: .seconds(2))
        alarm.fire()
        #expect(asked.value == 4, "once for the next deadline")
        #expect(log.count == 2)
    }

    @Test(arguments: [false, true]) func aStepWhileTheFirstDeadlineIsComputedIsNotLost(isRescheduled: Bool) throws {
        let (service, asked, alarm) = (try TimerService(alarm: alarm), Count(), alarm)
        let next: @Sendable (TimerInstant) -> TimerInstant? = { instant in
            if asked.add(1) == 1 {
                alarm.move(by: .seconds(-3_600))
                alarm.look()
            }
            return instant.advanced(by: .seconds(9))
        }
        let timer = isRescheduled ? try watched(on: service) { $0.advanced(by: .seconds(5)) } : nil
        try timer?.reschedule(.computed("computed", next))
        let stepped = try timer ?? watched(on: service, next)
        #expect(stepped.nextDeadline == alarm.now.advanced(by: .seconds(9)))
        #expect(asked.value == 2)
    }

    /// The watch knows a timer before the service does. Then a step must not go by, nor divide the timer's deadlines.
    @Test func aStepWhileATimerIsScheduledIsNotLost() async throws {
        let (current, isOver, met, stale) = (Box<WallAlarm>(), Box<Bool>(), Count(), Count())
        let looksOn = Gate()
        try await onThreads(2) { [log] thread in
            if thread == 0 { looksOn.pass() } else { looksOn.open() }
            // One look at each: a second one would make good what became of the first.
            while thread == 1, isOver.value == nil {
                guard let alarm = current.value, !alarm.wasLookedAt else { continue }
                alarm.move(by: .microseconds(1))
                alarm.look()
            }
            if thread == 1 { return }
            for _ in 0..<1_000_000 {
                if met.value == 200 { break }
                let alarm = WallAlarm()
                current.value = alarm
                let service = try? TimerService(alarm: alarm)
                let schedule = PreciseTimer.Schedule.computed { $0.advanced(by: .seconds(9)) }
                let timer = try? service.map {
                    try PreciseTimer.schedule(schedule, on: $0, target: log) { $0.note($1) }
                }
                let wasLookedAt = alarm.wasLookedAt
                if wasLookedAt { met.add(1) }
                if wasLookedAt, timer?.nextDeadline != alarm.now.advanced(by: .seconds(9)) { stale.add(1) }
                service?.shutdown()
            }
            isOver.value = true
        }
        #expect(stale.value == 0, "these kept their first deadline")
        #expect(met.value > 0)
    }

    /// The tick comes, and asks for its next deadline, while a look asks, too.
    @Test func aLookThatMeetsATickLeavesTheNextDeadlineToTheTick() throws {
        let (service, asked, alarm) = (try TimerService(alarm: alarm), Count(), alarm)
        let (isAsked, mayAnswer, isOver) = (Gate(), Gate(), Gate())
        let timer = try watched(on: service) { instant in
            switch asked.add(1) {
            case 2:
                try? Thread.start("test.tick") {
                    alarm.move(by: .seconds(9))
                    alarm.fire()
                    isOver.open()
                }
                isAsked.pass()
                return instant.advanced(by: .seconds(5))
            case 3:
                isAsked.open()
                mayAnswer.pass()
                return instant.advanced(by: .seconds(9))
            default: return instant.advanced(by: .seconds(9))
            }
        }
        let first = alarm.now.advanced(by: .seconds(9))
        alarm.look()
        mayAnswer.open()
        isOver.pass()
        #expect(timer.nextDeadline == first.advanced(by: .seconds(9)))
        alarm.move(by: .seconds(9))
        alarm.fire()
        #expect(log.ticks.map(\.index) == [0, 1])
        #expect(log.ticks.map(\.deadline) == [first, first.advanced(by: .seconds(9))])
    }

    @Test func aScheduleGivenWhileADeadlineIsComputedAnewStays() throws {
        let (service, timer, asked) = (try TimerService(alarm: alarm), Box<PreciseTimer>(), Count())
        timer.value = try watched(on: service) { instant in
            if asked.add(1) == 2 { try? timer.value?.reschedule(.computed { $0.advanced(by: .seconds(30)) }) }
            return instant.advanced(by: .seconds(asked.value == 1 ? 9 : 2))
        }
        alarm.look()
        #expect(timer.value?.nextDeadline == alarm.now.advanced(by: .seconds(30)))
        timer.value = nil
    }

    /// Two further checks find another deadline, and then the former one again, while the first check asks.
    @Test func aDeadlineThatComesBackWhileItIsComputedAnewIsComputedOnceMore() throws {
        let (service, asked, alarm) = (try TimerService(alarm: alarm), Count(), alarm)
        let timer = try watched(on: service) { instant in
            let number = asked.add(1)
            if number == 2 {
                alarm.look()
                alarm.look()
            }
            return instant.advanced(by: .seconds(number == 2 ? 2 : number == 3 ? 5 : 9))
        }
        alarm.look()
        #expect(timer.nextDeadline == alarm.now.advanced(by: .seconds(9)))
        #expect(asked.value == 5)
    }

    /// The rule that is refused asks nothing, and the tick is being computed.
    @Test func aRefusedRuleLosesNoStepOfTheClock() throws {
        let (service, asked, alarm, box) = (try TimerService(alarm: alarm), Count(), alarm, Box<PreciseTimer>())
        let timer = try watched(on: service) { instant in
            let number = asked.add(1)
            if number == 2 {
                alarm.look()
                try? box.value?.reschedule(.computed("none", { _ in nil }))
            }
            return instant.advanced(by: .seconds(number >= 3 ? 2 : 9))
        }
        box.value = timer
        alarm.move(by: .seconds(9))
        alarm.fire()
        #expect(timer.nextDeadline == alarm.now.advanced(by: .seconds(2)))
        box.value = nil
    }

    /// A tick and a new rule are computed at once.
    @Test func aStepIsSeenByEachComputationThatItMeets() throws {
        let (service, asked, alarm, box) = (try TimerService(alarm: alarm), Count(), alarm, Box<PreciseTimer>())
        let (isAsked, mayAnswer, isOver) = (Gate(), Gate(), Gate())
        let other = Count()
        let timer = try watched(on: service) { instant in
            if asked.add(1) == 2 {
                isAsked.open()
                mayAnswer.pass()
            }
            return instant.advanced(by: .seconds(9))
        }
        box.value = timer
        alarm.move(by: .seconds(9))
        try Thread.start("test.tick") {
            alarm.fire()
            isOver.open()
        }
        isAsked.pass()
        let new = PreciseTimer.Schedule.computed("new") { instant in
            if other.add(1) == 1 {
                alarm.move(by: .seconds(-3_600))
                alarm.look()
                mayAnswer.open()
                isOver.pass()
            }
            return instant.advanced(by: .seconds(9))
        }
        try timer.reschedule(new)
        #expect(timer.nextDeadline == alarm.now.advanced(by: .seconds(9)))
        box.value = nil
    }

    @Test func aDeadlineThatStaysTheSameKeepsItsTurn() throws {
        let (service, due) = (try TimerService(alarm: alarm), alarm.now.advanced(by: .seconds(9)))
        let order = Notes<Int>()
        let first = try PreciseTimer.schedule(.computed { _ in due }, on: service) { _, _ in order.append(1) }
        let second = try PreciseTimer.schedule(.once(at: due), on: service) { _, _ in order.append(2) }
        alarm.look()
        alarm.move(by: .seconds(9))
        alarm.fire()
        #expect(order.all == [1, 2])
        withExtendedLifetime((first, second)) {}
    }

    /// The extra tick was asked for at an instant that lies in the future since then.
    @Test func aDeadlineThatComesBackBeforeAnExtraTickSetsTheAlarm() throws {
        let service = try TimerService(alarm: alarm)
        let timer = try watched(on: service) { $0.advanced(by: .seconds(600)) }
        timer.fire()
        alarm.move(by: .seconds(-3_600))
        alarm.look()
        let next = alarm.now.advanced(by: .seconds(600))
        #expect(timer.nextDeadline == next)
        #expect(alarm.settings.last == .some(next))
    }

    @Test(arguments: [0, 1]) func aStepBackByAMinuteRepeatsNoDeadlineAndOneByMoreDoes(beyond: Int) throws {
        let (service, due) = (try TimerService(alarm: alarm), alarm.now.advanced(by: .seconds(90)))
        let timer = try watched(on: service) { $0 < due ? due : due.advanced(by: .seconds(90)) }
        alarm.move(by: .seconds(90))
        alarm.fire()
        alarm.move(by: .seconds(-60) - .nanoseconds(beyond))
        alarm.look()
        #expect(timer.nextDeadline == (beyond == 0 ? due.advanced(by: .seconds(90)) : due))
    }

    /// A deadline every ten seconds. The tick at 45 has the deadline 10, and has missed 20, 30 and 40.
    @Test func aStepBackRepeatsNoDeadlineThatWasMissed() throws {
        let (service, start, step) = (try TimerService(alarm: alarm), alarm.now, UInt64(10_000_000_000))
        let timer = try watched(on: service) {
            TimerInstant(nanoseconds: ($0.nanoseconds / step + 1) * step, clock: .wall)
        }
        alarm.move(by: .seconds(45))
        alarm.fire()
        alarm.move(by: .seconds(-30))
        alarm.look()
        #expect(log.ticks.map(\.missed) == [3])
        #expect(timer.nextDeadline == start.advanced(by: .seconds(50)))
    }

    /// The clock is set back by an hour while the first of three late ticks is delivered.
    @Test(arguments: [false, true]) func aStepBackInADeliveryIsNotLostAndEndsTheBurst(isInRule: Bool) throws {
        let (service, asked, early, alarm) = (try TimerService(alarm: alarm), Count(), Count(), alarm)
        let setBack = { @Sendable in
            alarm.move(by: .seconds(-3_600))
            alarm.look()
        }
        let schedule = PreciseTimer.Schedule.computed { instant in
            if asked.add(1) == 2, isInRule { setBack() }
            return instant.advanced(by: .seconds(10))
        }
        let policy = PreciseTimer.MissedTickPolicy.catchUp(limit: 5)
        let timer = try PreciseTimer.schedule(schedule, on: service, missedTicks: policy, target: log) { log, tick in
            log.note(tick)
            if log.count > 1, alarm.now < tick.deadline { early.add(1) }
            if log.count == 1, !isInRule { setBack() }
        }
        alarm.move(by: .seconds(35))
        alarm.fire()
        #expect(log.count == 1)
        #expect(timer.nextDeadline == alarm.now.advanced(by: .seconds(10)))
        alarm.move(by: .seconds(10))
        alarm.fire()
        #expect(log.count == 2 && early.value == 0)
    }
}
