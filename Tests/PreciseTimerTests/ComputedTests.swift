import Dispatch
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

/// Deadlines that a function computes: what it answers, what happens while it is asked, and the watch of the clock.
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

    /// An extra tick moves no deadline, and follows the last one.
    @Test(arguments: noAnswers.indices) func anAnswerThatIsNoLaterInstantOfTheClockIsNone(number: Int) throws {
        let (name, answer) = Self.noAnswers[number]
        let error = refusal { try PreciseTimer.schedule(.computed { answer($0) }, on: service) { _, _ in } }
        #expect(error?.code == .invalidSchedule)
        let schedule = Schedule.computed { [asked] in asked.add(1) == 1 ? $0.advanced(by: .seconds(9)) : answer($0) }
        let timer = try PreciseTimer.schedule(schedule, on: service) { [log] timer, tick in
            log.note(tick)
            if log.count == 2 { timer.fire() }
        }
        alarm.pass(4)
        timer.fire()
        for seconds in [0, 5, 0, 1] { alarm.pass(seconds) }
        #expect(ticks == [[4, 0, 0], [9, 0, 0], [9, 1, 0]] && timer.state == .ended(.completed), "\(name)")
    }

    // MARK: Orders

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
        alarm.move(by: .seconds(3))
        // The first reading decides the tick, and the second one comes just before the rule is asked.
        alarm.happen(before: 2) { try? timer.reschedule(.inSteps(of: 10)) }
        alarm.fire()
        alarm.move(by: .seconds(10))
        alarm.fire()
        #expect(log.ticks.map { start.duration(to: $0.deadline) } == [.seconds(1), .seconds(13)])
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
        service.shutdown()
        let before = alarm.watchCount - alarm.stops.value
        #expect(throws: TimerError.self) { _ = try schedule { _ in 9 } }
        #expect(alarm.watchCount - alarm.stops.value == before, "a timer that cannot be added is not watched")
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

/// Timers with computed deadlines end: with a last tick, also if the clock is set back meanwhile, by their rule, and
/// with their target.
@Suite(.waits("queues and tasks have threads of their own"), .timeLimit(.minutes(60))) struct ComputedEndingTests {
    typealias Schedule = PreciseTimer.Schedule

    private let virtual = VirtualTime(clock: .wall)
    private let log = Log()
    private let reasons = Notes<PreciseTimer.EndReason>()
    /// An actor is the target of its timers.
    private let places = Notes<Place>()

    private func schedule(_ schedule: Schedule, deliver: PreciseTimer.Delivery) throws -> PreciseTimer {
        let service = virtual.service
        return try PreciseTimer.schedule(schedule, on: service, deliver: deliver, target: log, onEnd: reasons.append) {
            $0.note($1)
        }
    }

    /// Where a handler runs; nil is a task without an actor.
    private static let kinds: [DeliveryKind?] = [.inline, .serialQueue, .mainActor, .actor, nil]

    private func schedule(
        at kind: DeliveryKind?,
        target: some AnyObject & Sendable,
        _ rule: @escaping @Sendable (TimerInstant) -> TimerInstant?
    ) throws -> PreciseTimer {
        let (schedule, service, log) = (Schedule.computed("computed", rule), virtual.service, log)
        if let place = kind.map(Place.init) {
            places.append(place)
            return try place.schedule(schedule, on: service, target: target, onEnd: reasons.append) { log.note($0) }
        }
        return try PreciseTimer.schedule(schedule, on: service, target: target, onEnd: reasons.append) { _, tick in
            await Task.yield()
            log.note(tick)
        }
    }

    // MARK: With a last tick

    /// Begins to finish a timer: the call runs up to its wait.
    private func finish(_ timer: PreciseTimer) -> Task<Bool, any Error> {
        Task.immediate { try await timer.finish() }
    }

    /// Sets the clock back by an hour.
    private func setBack() {
        virtual.inject(.stepClock(by: .seconds(-3_600)))
        virtual.advanceWithoutSettling(by: .zero)
    }

    /// Lets hours pass, and expects the timer to end with a last tick.
    private func expectEnd(of finishing: Task<Bool, any Error>) async throws {
        await virtual.advance(by: .seconds(4 * 3_600))
        try #require(reasons.all == [.completed])
        #expect(try await finishing.value)
    }

    private static let ten = Duration.seconds(10)

    /// The last tick that `finish()` decides on: an extra one, or that of deadlines that have passed. It waits for its
    /// round, or is on its way to a queue.
    @Test(
        arguments: [
            (.inSteps(of: 10), true), (.every(ten), true), (.onDemand, true), (.once(after: ten), true),
            (.inSteps(of: 10), false), (.every(ten), false),
        ] as [(Schedule, Bool)],
        [false, true]
    )
    func aStepBackChangesNoLastTick(row: (schedule: Schedule, isExtra: Bool), isOnItsWay: Bool) async throws {
        let (queue, start) = (SuspendedQueue(), virtual.now)
        let timer = try schedule(row.schedule, deliver: isOnItsWay ? .queue(queue.queue) : .inline)
        if !row.isExtra {
            if !isOnItsWay { virtual.inject(.wakeLate(by: .seconds(60))) }
            virtual.advanceWithoutSettling(by: .seconds(25))
        }
        let finishing = finish(timer)
        if row.isExtra, isOnItsWay { virtual.advanceWithoutSettling(by: .zero) }
        setBack()
        queue.letRun()
        try await expectEnd(of: finishing)
        let facts = log.ticks.map { [start.duration(to: $0.deadline), start.duration(to: $0.latestDeadline)] }
        #expect(facts == [row.isExtra ? [.zero, .zero] : [Self.ten, Self.ten * 2]])
        #expect(log.ticks.map(\.isExtra) == [row.isExtra])
    }

    /// The watch of the clock asks the rule. Meanwhile the deadline passes, and the timer is finished.
    @Test func aFinishWhileADeadlineIsComputedAnewKeepsItsTick() async throws {
        let (timer, finishing, asked) = (Box<PreciseTimer>(), Box<Task<Bool, any Error>>(), Count())
        let (queue, virtual, deadline) = (SuspendedQueue(), virtual, virtual.now.advanced(by: .seconds(10)))
        let rule = Schedule.computed { instant in
            if asked.add(1) == 1 { return deadline }
            if asked.value == 2 {
                virtual.jump(by: .seconds(3_620))
                finishing.value = timer.value.map(finish)
            }
            return instant.advanced(by: .seconds(7_200))
        }
        timer.value = try schedule(rule, deliver: .queue(queue.queue))
        setBack()
        queue.letRun()
        try await expectEnd(of: try #require(finishing.value))
        #expect(log.ticks.map(\.deadline) == [deadline])
        timer.value = nil
    }

    // MARK: By the rule, which is inside the handler

    private static let endings:
        [(reason: PreciseTimer.EndReason, end: @Sendable (PreciseTimer, TimerService) -> Void)] = [
            (.cancelled, { timer, _ in timer.cancel() }), (.cancelled, { timer, _ in timer.cancelAndWait() }),
            (.serviceShutDown, { _, service in service.shutdown() }),
        ]

    @Test(arguments: kinds, endings.indices)
    func aRuleThatEndsItsTimerNeitherWaitsNorStartsTheHandler(kind: DeliveryKind?, number: Int) async throws {
        let (timer, asked, cancelled, service) = (Box<PreciseTimer>(), Count(), Notes<Bool>(), virtual.service)
        let ending = Self.endings[number]
        timer.value = try schedule(at: kind, target: log) { instant in
            if asked.add(1) == 2, let timer = timer.value {
                ending.end(timer, service)
                cancelled.append(Task.isCancelled)
            }
            return instant.advanced(by: .seconds(1))
        }
        virtual.advanceWithoutSettling(by: .seconds(1))
        try #require(await soon { !reasons.all.isEmpty })
        await virtual.advance(by: .seconds(1))
        #expect(reasons.all == [ending.reason] && log.count == 0)
        #expect(cancelled.all == [false], "the task of the rule goes on")
        timer.value = nil
    }

    // MARK: With the target

    @Test(arguments: [DeliveryKind.inline, .serialQueue, .mainActor, nil])
    func theRuleOfAReleasedTargetIsNotAsked(kind: DeliveryKind?) async throws {
        let asked = Count()
        var target: Thing? = Thing()
        _ = try schedule(at: kind, target: try #require(target)) { instant in
            asked.add(1)
            return instant.advanced(by: .milliseconds(500))
        }
        target = nil
        virtual.advanceWithoutSettling(by: .milliseconds(500))
        try #require(await soon { !reasons.all.isEmpty })
        #expect(reasons.all == [.targetReleased] && asked.value == 1)
    }

    @Test func theTargetIsThereWhileItsRuleIsAsked() throws {
        let (target, asked, released, before) = (Box<Thing>(), Count(), Count(), Notes<Int>())
        target.value = Thing { released.add(1) }
        _ = try schedule(at: .inline, target: try #require(target.value)) { instant in
            if asked.add(1) == 2 {
                target.value = nil
                before.append(released.value)
            }
            return instant.advanced(by: .milliseconds(500))
        }
        virtual.advance(by: .milliseconds(500))
        #expect(before.all == [0] && released.value == 1 && reasons.all == [.targetReleased])
    }
}

/// The newest deadline that a tick stands for, of schedules that the model does not have.
struct LatestDeadlineTests {
    typealias Schedule = PreciseTimer.Schedule

    private let scene = Scene()

    private static let ten = Duration.milliseconds(10)

    /// A tick that has missed deadlines moves them all by the jitter of the oldest.
    @Test func withAJitterItHasTheDistanceOfTheMissedDeadlines() throws {
        for _ in 0..<20 { try scene.timer(.every(Self.ten, jitter: Self.ten)) }
        scene.jump(55)
        for tick in scene.log.ticks {
            #expect(tick.deadline.duration(to: tick.latestDeadline) == Self.ten * tick.missed)
            #expect(tick.latestDeadline <= tick.delivered)
        }
        #expect(scene.log.ticks.count { $0.missed >= 3 } == 20)
    }

    @Test func withAJitterItIsNotAfterTheEndOfTheSchedule() throws {
        let end = scene.at(35)
        for _ in 0..<20 { try scene.timer(.every(Self.ten, jitter: Self.ten, for: .milliseconds(35))) }
        scene.jump(55)
        #expect(scene.log.count == 20 && scene.log.ticks.allSatisfy { $0.latestDeadline <= end })
    }

    @Test func aSlowQueueIsToldOfThoseThatPassedOnTheWay() throws {
        let queue = SuspendedQueue()
        try PreciseTimer.schedule(
            .every(Self.ten),
            on: scene.virtual.service,
            deliver: .queue(queue.queue),
            target: scene.log
        ) { $0.note($1) }
        scene.virtual.advanceWithoutSettling(by: .milliseconds(55))
        queue.letRun()
        queue.queue.sync {}
        let tick = try #require(scene.log.ticks.first)
        #expect([tick.deadline, tick.latestDeadline] == [scene.at(10), scene.at(50)])
    }

    /// So many are not counted, and the search for the last one halves the time. The clock of a machine may start in
    /// 1970.
    @Test(arguments: [1, 7], [10_001, 10_002, 1_000_003, 1 << 33])
    func ofMoreThanTenThousandComputedDeadlinesItIsExact(step: Int, seconds: Int) throws {
        let length = UInt64(step) * 1_000_000_000
        try scene.timer(.computed { $0.advanced(by: .nanoseconds(length - $0.nanoseconds % length)) })
        scene.virtual.jump(by: .seconds(seconds))
        scene.virtual.advance(by: .zero)
        let tick = try #require(scene.log.ticks.first)
        let latest = scene.virtual.now.nanoseconds / length * length
        #expect(tick.latestDeadline.nanoseconds == latest)
        #expect(tick.missed == min(10_000, Int((latest - tick.deadline.nanoseconds) / length)))
    }

    /// The same if no deadline comes for a long time before now.
    @Test(arguments: [1, 3, 7, 8].map { $0 << 20 }) func itIsExactIfTheDeadlinesThinOut(end: UInt64) throws {
        let (second, scene) = (UInt64(1_000_000_000), scene)
        let start = scene.virtual.now.nanoseconds
        let schedule = Schedule.computed { instant in
            let next = (instant.nanoseconds - start) / second + 1
            return TimerInstant(nanoseconds: start + (next <= end ? next : 1 << 24) * second)
        }
        try scene.timer(schedule)
        scene.virtual.jump(by: .seconds(8 << 20))
        let tick = try #require(scene.log.ticks.first)
        #expect(tick.latestDeadline == scene.at(Int(end) * 1_000) && tick.missed == 10_000)
    }

    @Test func aTickThatIsMadeIsDeliveredAfterItsLatestDeadline() {
        let (first, latest) = (scene.at(10), scene.at(30))
        let one = PreciseTimer.Tick(deadline: first)
        let two = PreciseTimer.Tick(deadline: first, latestDeadline: latest)
        #expect(one.latestDeadline == first && one.delivered == first && one != two)
        #expect(two.delivered == latest && two.lateness == .milliseconds(20))
    }
}

extension PreciseTimer.Schedule {
    static func inSteps(of seconds: Int) -> Self { .computed { $0.advanced(by: .seconds(seconds)) } }
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
