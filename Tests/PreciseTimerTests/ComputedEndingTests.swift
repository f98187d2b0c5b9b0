import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Timers with computed deadlines end: with a last tick, also if the clock is set back meanwhile, by their rule, and
/// with their target.
@Suite(.waits("queues and tasks have threads of their own"), .timeLimit(.minutes(60))) struct ComputedEndingTests {
    private typealias Rule = @Sendable (TimerInstant) -> TimerInstant?

    private let virtual = VirtualTime(clock: .wall)
    private let log = Log()
    private let reasons = Notes<PreciseTimer.EndReason>()
    /// An actor is the target of its timers.
    private let places = Notes<Place>()

    private func schedule(
        _ policy: PreciseTimer.MissedTickPolicy = .skip,
        deliver: PreciseTimer.Delivery = .inline,
        _ rule: @escaping Rule
    ) throws -> PreciseTimer {
        try PreciseTimer.schedule(
            .computed("computed", rule),
            on: virtual.service,
            missedTicks: policy,
            deliver: deliver,
            target: log,
            onEnd: reasons.append,
            handler: { $0.note($1) }
        )
    }

    /// Where a handler runs; nil is a task without an actor.
    private static let kinds: [DeliveryKind?] = [.inline, .serialQueue, .mainActor, .actor, nil]

    private func schedule(
        at kind: DeliveryKind?,
        target: some AnyObject & Sendable,
        _ rule: @escaping Rule
    ) throws -> PreciseTimer {
        let (schedule, service, log) = (PreciseTimer.Schedule.computed("computed", rule), virtual.service, log)
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

    /// The last tick that `finish()` decides on: an extra one, or that of a deadline that has passed. Perhaps the rule
    /// answers later from now on.
    enum LastTick: CaseIterable { case extra, late, lateAndLaterNow }

    /// The last tick waits for its round, or is on its way to a queue.
    @Test(arguments: LastTick.allCases, [false, true])
    func aStepBackChangesNoLastTick(last: LastTick, isOnItsWay: Bool) async throws {
        let (queue, answer) = (SuspendedQueue(), Box<Int>())
        answer.value = last == .extra ? 600 : 10
        let deadline = virtual.now.advanced(by: .seconds(last == .extra ? 0 : 10))
        let timer = try schedule(deliver: isOnItsWay ? .queue(queue.queue) : .inline) {
            $0.advanced(by: .seconds(answer.value ?? 0))
        }
        if last != .extra {
            if !isOnItsWay { virtual.inject(.wakeLate(by: .seconds(60))) }
            virtual.advanceWithoutSettling(by: .seconds(25))
        }
        let finishing = finish(timer)
        if last == .extra, isOnItsWay { virtual.advanceWithoutSettling(by: .zero) }
        if last == .lateAndLaterNow { answer.value = 7_200 }
        setBack()
        queue.letRun()
        try await expectEnd(of: finishing)
        #expect(log.ticks.map(\.deadline) == [deadline] && log.ticks.map(\.isExtra) == [last == .extra])
    }

    /// The watch of the clock asks the rule. Meanwhile the deadline passes, and the timer is finished.
    @Test func aFinishWhileADeadlineIsComputedAnewKeepsItsTick() async throws {
        let (timer, finishing, asked) = (Box<PreciseTimer>(), Box<Task<Bool, any Error>>(), Count())
        let (queue, virtual, deadline) = (SuspendedQueue(), virtual, virtual.now.advanced(by: .seconds(10)))
        timer.value = try schedule(deliver: .queue(queue.queue)) { instant in
            if asked.add(1) == 1 { return deadline }
            if asked.value == 2 {
                virtual.jump(by: .seconds(3_620))
                finishing.value = timer.value.map(finish)
            }
            return instant.advanced(by: .seconds(7_200))
        }
        setBack()
        queue.letRun()
        try await expectEnd(of: try #require(finishing.value))
        #expect(log.ticks.map(\.deadline) == [deadline])
        timer.value = nil
    }

    @Test(arguments: [PreciseTimer.MissedTickPolicy.skip, .catchUp(limit: 3)])
    func aFinishInsideTheRuleLosesNoPassedDeadline(policy: PreciseTimer.MissedTickPolicy) throws {
        let (timer, asked) = (Box<PreciseTimer>(), Count())
        timer.value = try schedule(policy) { instant in
            if asked.add(1) == 2 { _ = timer.value.map(finish) }
            return instant.advanced(by: .seconds(1))
        }
        virtual.jump(by: .milliseconds(5_500))
        virtual.advance(by: .seconds(5))
        #expect(log.ticks.filter { !$0.isExtra }.accounted == 5 && reasons.all == [.completed])
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

    @Test(arguments: [false, true]) func aRuleThatEndsItsTimerLeavesItsConsumerNoTick(byShutdown: Bool) async throws {
        let (consumer, asked, log, service) = (Box<Task<Void, any Error>>(), Count(), log, virtual.service)
        let schedule = PreciseTimer.Schedule.computed { instant in
            if asked.add(1) == 2 { if byShutdown { service.shutdown() } else { consumer.value?.cancel() } }
            return instant.advanced(by: .seconds(1))
        }
        let ticks = PreciseTimer.ticks(schedule, on: service)
        consumer.value = Task { for try await tick in ticks { log.note(tick) } }
        try #require(await soon { virtual.pendingCount == 1 })
        virtual.advanceWithoutSettling(by: .seconds(1))
        try await consumer.value?.value
        #expect([log.count, asked.value] == [0, 2])
        consumer.value = nil
    }

    @Test(arguments: kinds) func theRuleOfTheLastTickGivesItsTimerNoOrders(kind: DeliveryKind?) async throws {
        let (timer, asked, refusals) = (Box<PreciseTimer>(), Count(), Notes<TimerError.Code?>())
        timer.value = try schedule(at: kind, target: log) { instant in
            if asked.add(1) == 2 {
                let error = #expect(throws: TimerError.self) {
                    try timer.value?.reschedule(.computed { $0.advanced(by: .seconds(9)) })
                }
                refusals.append(error?.code)
            }
            return instant.advanced(by: .seconds(1))
        }
        virtual.inject(.wakeLate(by: .seconds(60)))
        virtual.advanceWithoutSettling(by: .milliseconds(1_500))
        let finishing = finish(try #require(timer.value))
        await virtual.advance(by: .seconds(60))
        #expect(try await finishing.value)
        #expect(refusals.all == [.timerEnded] && timer.value?.state == .ended(.completed))
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

/// Orders to timers with computed deadlines, and a burst of them, on virtual time.
struct ComputedOrderTests {
    private let scene = Scene()

    /// The second deadline passes exactly at the first tick, whose handler takes two more.
    @Test func aDeadlineThatPassesWithTheTickIsPartOfTheBurst() throws {
        let timer = try scene.handle(.inSteps(of: 1), missed: .catchUp(limit: 2)) { [scene] _, count in
            if count == 1 { scene.jump(2_500) }
        }
        scene.jump(2_000)
        #expect(scene.ticks == "0@1000 late 1000, 1@2000 late 2500 missed 2")
        timer.cancel()
    }

    @Test(
        arguments: [
            (
                "a paused timer is late on resume", .inSteps(of: 1),
                [.pause, .advance(2_000), .resume, .advance(0)], "0@1000 late 1000 missed 1"
            ),
            (
                "a new schedule drops the extra tick of the former one, and may be of any kind", .inSteps(of: 10),
                [
                    .fire, .reschedule(.inSteps(of: 5)), .advance(5_000), .reschedule(.every(.seconds(1))),
                    .advance(2_000), .reschedule(.onDemand), .advance(100_000), .reschedule(.inSteps(of: 5)),
                    .advance(5_000), .reschedule(.once(after: .seconds(1))), .advance(1_000), .fire, .advance(0),
                ],
                "0@5000, 0@6000, 1@7000, 0@112000, 0@113000, extra 1@113000"
            ),
        ] as [Play]
    )
    func ordersAreThoseOfAnyTimer(play: Play) throws { try expectTicks(of: play) }

    @Test func extraTicksMoveNoDeadlineAndFollowTheLastOne() throws {
        let asked = Count()
        let schedule = PreciseTimer.Schedule.computed { asked.add(1) == 1 ? $0.advanced(by: .seconds(9)) : nil }
        let timer = try scene.handle(schedule) { timer, count in if count == 2 { timer.fire() } }
        scene.advance(4_000)
        timer.fire()
        scene.advance(5_000)
        #expect(scene.ticks == "extra 0@4000, 0@9000, extra 1@9000" && timer.state == .ended(.completed))
    }

    @Test func aTimerIsRescheduledByItsHandler() throws {
        let timer = try scene.handle(.inSteps(of: 5)) { timer, count in
            if count == 1 { try? timer.reschedule(.inSteps(of: 2)) }
        }
        scene.advance(9_000)
        #expect(scene.ticks == "0@5000, 0@7000, 1@9000")
        timer.cancel()
    }
}

extension PreciseTimer.Schedule {
    static func inSteps(of seconds: Int) -> Self { .computed { $0.advanced(by: .seconds(seconds)) } }
}
