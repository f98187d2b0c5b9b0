import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

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
