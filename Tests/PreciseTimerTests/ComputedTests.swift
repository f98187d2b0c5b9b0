import PreciseTimer
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

/// Deadlines that a function computes: what it answers, what happens while it is asked, and the watch of the clock.
/// (``ComputedOrderTests`` have the orders on virtual time.)
struct ComputedTests {
    private typealias Schedule = PreciseTimer.Schedule
    typealias Policy = PreciseTimer.MissedTickPolicy

    private let alarm = WallAlarm()
    private let service: TimerService
    private let log = Log()
    private let asked = Count()

    init() throws { service = try TimerService(alarm: alarm) }

    /// A rule that is told how often it was asked, and answers how many seconds later the deadline is.
    private func rule(_ seconds: @escaping @Sendable (Int) -> Int?) -> Schedule {
        .computed { [asked] instant in seconds(asked.add(1)).map { instant.advanced(by: .seconds($0)) } }
    }

    private func schedule(
        _ policy: Policy = .skip,
        _ seconds: @escaping @Sendable (Int) -> Int?
    ) throws -> PreciseTimer {
        try PreciseTimer.schedule(rule(seconds), on: service, missedTicks: policy, target: log) { $0.note($1) }
    }

    private func later(_ seconds: Int) -> TimerInstant { alarm.now.advanced(by: .seconds(seconds)) }

    /// The deadline of each tick, in seconds since the start, its number, and what it has missed.
    private var ticks: [[Int]] {
        log.ticks.map { [Int(WallAlarm.start.duration(to: $0.deadline) / .seconds(1)), $0.index, $0.missed] }
    }

    // MARK: Answers

    private static let noAnswers: [(name: String, answer: @Sendable (TimerInstant) -> TimerInstant?)] = [
        ("none", { _ in nil }), ("the same", { $0 }), ("earlier", { $0.advanced(by: .seconds(-1)) }),
        ("never", { .never(on: $0.clock) }), ("another clock", { TimerInstant(nanoseconds: $0.nanoseconds + 1_000) }),
    ]

    @Test(arguments: noAnswers.indices) func anAnswerThatIsNoLaterInstantOfTheClockIsNone(number: Int) throws {
        let (name, answer) = Self.noAnswers[number]
        let error = #expect(throws: TimerError.self) {
            let schedule = Schedule.computed("at dawn", on: .wall, hint: "wait") { answer($0) }
            _ = try PreciseTimer.schedule(schedule, on: service) { _, _ in }
        }
        #expect(error?.code == .invalidSchedule)
        #expect(error?.attempted == "scheduling at dawn, which has no deadline from now on (wait)")
        let schedule = Schedule.computed { [asked] in asked.add(1) == 1 ? $0.advanced(by: .seconds(1)) : answer($0) }
        let timer = try PreciseTimer.schedule(schedule, on: service, target: log) { $0.note($1) }
        for _ in 0..<3 { alarm.pass(1) }
        #expect(ticks == [[1, 0, 0]] && timer.state == .ended(.completed), "\(name)")
    }

    /// A deadline each second. The clock stalls, or somebody sets it forward.
    @Test(
        arguments: [
            (Policy.skip, [3, 1], [[1, 0, 2], [4, 3, 0]]), (.delay, [3, 1], [[1, 0, 2], [4, 3, 0]]),
            (.catchUp(limit: 3), [6, 2], [[1, 0, 0], [2, 1, 0], [3, 2, 3], [7, 6, 0], [8, 7, 0]]),
            (.skip, [20_000], [[1, 0, 10_000]]),
        ],
        [false, true]
    )
    func upToTenThousandPassedDeadlinesAreCounted(
        row: (policy: Policy, lengths: [Int], ticks: [[Int]]),
        isStep: Bool
    ) throws {
        let timer = try schedule(row.policy) { _ in 1 }
        for length in row.lengths {
            alarm.move(by: .seconds(length))
            if isStep { alarm.look() }
            alarm.fire()
        }
        #expect(ticks == row.ticks)
        #expect(timer.nextDeadline == later(1) && timer.period == nil)
    }

    // MARK: Orders

    @Test func onlyATimerThatBeganWithARuleGetsAnother() throws {
        let timers = [
            try PreciseTimer.schedule(.every(.seconds(1)), on: service, target: log) { $0.note($1) },
            try schedule { _ in 1 },
        ]
        let error = #expect(throws: TimerError.self) { try timers[0].reschedule(rule { _ in 9 }) }
        #expect(error?.attempted.contains("schedule a new one") == true)
        #expect(throws: TimerError.self) { try timers[1].reschedule(.computed { _ in nil }) }
        #expect(timers.map(\.nextDeadline) == [later(1), later(1)], "they are as they were")
        try timers[1].reschedule(.once(after: .seconds(1)))
        alarm.pass(1)
        #expect(timers[1].state == .ended(.completed))
        #expect(throws: TimerError.self) { try timers[1].reschedule(rule { _ in 9 }) }
    }

    @Test(arguments: [PreciseTimer.Schedule.every(.seconds(1)), .inSteps(of: 1)])
    func anExtraTickAndANewScheduleMayComeWhileTheNextDeadlineIsComputed(new: PreciseTimer.Schedule) throws {
        let timer = Box<PreciseTimer>()
        timer.value = try schedule { number in
            if number == 2 { timer.value?.fire() }
            if number == 3 { try? timer.value?.reschedule(new) }
            return 600
        }
        for seconds in [600, 0, 600, 1] { alarm.pass(seconds) }
        #expect(ticks == [[600, 0, 0], [600, 1, 0], [1_200, 1, 0], [1_201, 0, 0]])
        timer.value = nil
    }

    @Test func aTickOfTheFormerScheduleUsesUpNoDeadlineOfTheNewOne() throws {
        let alarm = ManualAlarm()
        let (service, start) = (try TimerService(alarm: alarm), alarm.now)
        let timer = try PreciseTimer.schedule(rule { _ in 1 }, on: service, target: log) { $0.note($1) }
        alarm.move(by: .seconds(1))
        // The first reading decides the tick, and the second one comes just before the rule is asked.
        alarm.happen(before: 2) { try? timer.reschedule(.inSteps(of: 10)) }
        alarm.fire()
        alarm.move(by: .seconds(10))
        alarm.fire()
        #expect(log.ticks.map { start.duration(to: $0.deadline) } == [.seconds(1), .seconds(11)])
        #expect(log.ticks.map(\.index) == [0, 0])
    }

    @Test func aRuleIsReleasedOutsideTheLockWhenItIsReplacedAndWhenTheTimerEnds() throws {
        let (released, service) = (Notes<String>(), service)
        // A release under the lock would find it taken.
        func rule(_ name: String) -> Schedule {
            let thing = Thing {
                _ = service.activeTimers
                released.append(name)
            }
            return .computed { instant in withExtendedLifetime(thing) { instant.advanced(by: .seconds(1)) } }
        }
        let timer = try PreciseTimer.schedule(rule("first"), on: service) { _, _ in }
        alarm.pass(2)
        #expect(released.all == [])
        try timer.reschedule(rule("second"))
        alarm.pass(2)
        try timer.reschedule(.every(.seconds(1)))
        #expect(released.all == ["first", "second"])
        try timer.reschedule(rule("third"))
        timer.cancel()
        #expect(released.all == ["first", "second", "third"] && service.pendingCount == 0)
    }

    // MARK: The watch of the clock

    @Test func oneWatchServesAllTimersUntilTheLastHasEnded() throws {
        let timers = try (0..<3).map { _ in try schedule { $0 > 3 ? 2 : 9 } }
        timers[0].cancel()
        #expect([alarm.watchCount, alarm.stops.value] == [1, 0])
        alarm.look()
        #expect(timers.map(\.nextDeadline) == [nil, later(2), later(2)], "all are computed anew")
        for timer in timers { timer.cancel() }
        #expect([alarm.watchCount, alarm.stops.value] == [1, 1])
        for count in 2...3 {
            _ = try schedule { _ in 9 }
            #expect(alarm.watchCount == count, "one that has ended, or was ended, is replaced")
            alarm.endWatches()
        }
    }

    @Test func aTimerThatCannotBeAddedIsNotWatched() throws {
        service.shutdown()
        #expect(throws: TimerError.self) { _ = try schedule { _ in 9 } }
        #expect(alarm.stops.value == alarm.watchCount)
    }

    /// What happens while the rule is asked for the second time: by a tick after 9 s, or by a look. The rule's answers,
    /// the next deadline after that, and how often it was asked and how many ticks there were, by then and after the
    /// tick of that deadline.
    private static let meetings:
        [(name: String, isByTick: Bool, answers: [Int], next: Int, counts: [[Int]], event: Event)] = [
            ("a look", true, [9, 9, 2], 2, [[3, 1], [4, 2]], { alarm, _ in alarm.look() }),
            (
                "a tick, which asks for the next deadline", false, [9, 5, 9], 9, [[3, 1], [4, 2]],
                { alarm, _ in alarm.pass(9) }
            ),
            (
                "two looks, which find another deadline and then the former one", false, [9, 2, 5, 9], 9,
                [[5, 0], [6, 1]], { alarm, _ in for _ in 0..<2 { alarm.look() } }
            ),
            (
                "a look, and a rule that is refused", true, [9, 9, 2], 2, [[3, 1], [4, 2]],
                { alarm, timer in
                    alarm.look()
                    try? timer?.reschedule(.computed { _ in nil })
                }
            ),
            (
                "another rule", false, [9, 2], 30, [[2, 0], [2, 1]],
                { _, timer in try? timer?.reschedule(.inSteps(of: 30)) }
            ),
        ]
    private typealias Event = @Sendable (WallAlarm, PreciseTimer?) -> Void

    @Test(arguments: meetings.indices)
    func whatHappensWhileADeadlineIsComputedIsNotLostAndThenOver(number: Int) throws {
        let (name, isByTick, answers, next, counts, event) = Self.meetings[number]
        let timer = Box<PreciseTimer>()
        timer.value = try schedule { [alarm] number in
            if number == 2 { event(alarm, timer.value) }
            return answers[min(number, answers.count) - 1]
        }
        if isByTick { alarm.pass(9) } else { alarm.look() }
        #expect(timer.value?.nextDeadline == later(next), "\(name)")
        let before = [asked.value, log.count]
        alarm.pass(next)
        #expect([before, [asked.value, log.count]] == counts, "\(name)")
        timer.value = nil
    }

    @Test(arguments: [false, true]) func aStepWhileTheFirstDeadlineIsComputedIsNotLost(isRescheduled: Bool) throws {
        let timer = isRescheduled ? try schedule { _ in 5 } : nil
        let last = isRescheduled ? 2 : 1
        let seconds: @Sendable (Int) -> Int? = { [alarm] in
            if $0 == last { alarm.setBack() }
            return 9
        }
        try timer?.reschedule(rule(seconds))
        let stepped = try timer ?? schedule(.skip, seconds)
        #expect(stepped.nextDeadline == later(9))
        #expect(asked.value == (isRescheduled ? 4 : 2), "the step asks the former rule, too")
    }

    @Test func aDeadlineThatStaysTheSameKeepsItsTurn() throws {
        let (due, order) = (later(9), Notes<Int>())
        let first = try PreciseTimer.schedule(.computed { _ in due }, on: service) { _, _ in order.append(1) }
        let second = try PreciseTimer.schedule(.once(at: due), on: service) { _, _ in order.append(2) }
        alarm.look()
        alarm.pass(9)
        #expect(order.all == [1, 2])
        withExtendedLifetime((first, second)) {}
    }

    // MARK: Steps back

    /// The extra tick was asked for at an instant that lies in the future since then.
    @Test func aDeadlineThatComesBackBeforeAnExtraTickSetsTheAlarm() throws {
        let timer = try schedule { _ in 600 }
        timer.fire()
        alarm.setBack()
        #expect([timer.nextDeadline, alarm.lastSetting.value] == [later(600), later(600)])
    }

    /// A deadline every 100 s. One or four of them have passed when the clock is set back.
    @Test(arguments: [
        (100, Duration.seconds(60), 200), (100, .seconds(60) + .nanoseconds(1), 100), (100, .seconds(3_600), -3_400),
        (450, .seconds(60), 500),
    ])
    func aSmallStepBackRepeatsNoDeadlineAndALongerOneDoes(passed: Int, step: Duration, next: Int) throws {
        let length = UInt64(100_000_000_000)
        let schedule = Schedule.computed {
            TimerInstant(nanoseconds: ($0.nanoseconds / length + 1) * length, clock: .wall)
        }
        let timer = try PreciseTimer.schedule(schedule, on: service, target: log) { $0.note($1) }
        alarm.pass(passed)
        alarm.move(by: .zero - step)
        alarm.look()
        let due = WallAlarm.start.advanced(by: .seconds(next))
        #expect(timer.nextDeadline == due)
        alarm.move(by: alarm.now.duration(to: due))
        alarm.fire()
        #expect(log.count == 2)
    }

    /// The clock is set back by an hour while the first of three late ticks is delivered.
    @Test(arguments: [false, true]) func aStepBackInADeliveryIsNotLostAndEndsTheBurst(isInRule: Bool) throws {
        let (early, alarm) = (Count(), alarm)
        let schedule = rule {
            if $0 == 2, isInRule { alarm.setBack() }
            return 10
        }
        let policy = Policy.catchUp(limit: 5)
        let timer = try PreciseTimer.schedule(schedule, on: service, missedTicks: policy, target: log) { log, tick in
            log.note(tick)
            if log.count > 1, alarm.now < tick.deadline { early.add(1) }
            if log.count == 1, !isInRule { alarm.setBack() }
        }
        alarm.pass(35)
        #expect(log.count == 1 && timer.nextDeadline == later(10))
        alarm.pass(10)
        #expect(log.count == 2 && early.value == 0)
    }
}

/// An alarm with a wall clock of its own, which a test moves, and whose watches it calls and ends.
private final class WallAlarm: SteppingAlarm {
    static let start = TimerInstant(nanoseconds: 1_000_000_000_000_000, clock: .wall)

    private let time = Lock(WallAlarm.start)
    private let onFire = Box<@Sendable () -> Void>()
    let lastSetting = Box<TimerInstant>()
    private let watches = Notes<(look: @Sendable () -> Void, end: @Sendable () -> Void)>()
    let stops = Count()

    var now: TimerInstant { time.withLock { $0 } }
    var watchCount: Int { watches.all.count }

    func move(by duration: Duration) { time.withLock { $0 = $0.advanced(by: duration) } }
    func fire() { onFire.value?() }
    func look() { for watch in watches.all { watch.look() } }
    func endWatches() { for watch in watches.all { watch.end() } }

    /// Lets seconds pass, and fires.
    func pass(_ seconds: Int) {
        move(by: .seconds(seconds))
        fire()
    }

    /// Sets the clock back by an hour.
    func setBack() {
        move(by: .seconds(-3_600))
        look()
    }

    func start(onFire: @escaping @Sendable () -> Void, onFailure: @escaping @Sendable (TimerError) -> Void) {
        self.onFire.value = onFire
    }

    func set(_ deadline: TimerInstant?) { lastSetting.value = deadline }

    func stop() {}

    func watchClock(
        _ onCheck: @escaping @Sendable (ClockChanges) -> Void,
        onEnd: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void {
        watches.append(({ onCheck(ClockChanges()) }, onEnd))
        return { [stops] in stops.add(1) }
    }
}
