import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing
import TimerKernel

/// Every timer ends once, for one reason, and `onEnd` is called once: every form on virtual time.
@Suite(.waits("handlers run on threads of their own"), .timeLimit(.minutes(60))) struct OnEndTests {
    private static func atOnce(_ reason: PreciseTimer.EndReason) -> @Sendable (HandlerForm) -> [String] {
        { _ in ["released, \(reason) inline, over"] }
    }

    private static func inside(_ reason: PreciseTimer.EndReason) -> @Sendable (HandlerForm) -> [String] {
        { ["", "runs \($0.place), released, \(reason) \($0.place), over"] }
    }

    private static func beside(_ reason: PreciseTimer.EndReason) -> @Sendable (HandlerForm) -> [String] {
        { ["", "runs \($0.place)\($0.isInTask ? ", is stopped" : ""), released, \(reason) \($0.place), over"] }
    }

    /// What is heard if a tick finds that the target was released.
    private static func withoutTarget(_ form: HandlerForm) -> String {
        "released, target released \(form.isOfActor ? "pool" : form.place), over"
    }

    /// The captures of the handler and of `onError` are released before `onEnd` is called, and those of `onEnd` after
    /// it.
    private static let lives = [
        Life(deed: .cancel, events: atOnce(.cancelled)), Life(deed: .cancelAndWait, events: atOnce(.cancelled)),
        Life(deed: .shutDown, events: atOnce(.serviceShutDown)),
        Life(deed: .fail, events: atOnce(.backendFailed(RefusingAlarm.refusal))),
        Life(deed: .letGo) { form in
            form.isOfHandle ? ["released, handle released inline, over"] : ["target gone", withoutTarget(form)]
        },
        Life(deed: .letGoAndSweep) { form in
            form.isOfHandle
                ? ["released, handle released inline, over"] : ["target gone, released, target released inline, over"]
        },
        Life(deed: .cancel, moment: .inTheHandler, events: inside(.cancelled)),
        Life(deed: .cancelAndWait, moment: .inTheHandler, onError: .takes, events: inside(.cancelled)),
        Life(deed: .shutDown, moment: .inTheHandler, events: inside(.serviceShutDown)),
        Life(deed: .letGo, moment: .inTheHandler) { form in
            form.isOfHandle
                ? inside(.handleReleased)(form) : ["", "runs \(form.place), target gone", withoutTarget(form)]
        },
        Life(deed: .cancel, moment: .besideTheHandler, events: beside(.cancelled)),
        Life(deed: .shutDown, moment: .besideTheHandler, events: beside(.serviceShutDown)),
        Life(isOnce: true, events: inside(.completed)),
        Life(deed: .cancel, endsOnMain: true) { _ in ["released, cancelled main, over"] },
        Life(isOnce: true, endsOnMain: true) { ["", "runs \($0.place), released, completed main, over"] },
    ]

    @Test(arguments: HandlerForm.allCases, lives)
    func everyFormEndsOnceAndReleasesItsCapturesAround(form: HandlerForm, life: Life) async throws {
        try await life.expectEvents(of: form)
    }
}

/// Promise 9, on every backend and on virtual time: one ending, for one reason, reported once.
@Suite(.waits("every backend ends a timer by itself"), .timeLimit(.minutes(60))) struct EveryEndingTests {
    /// The ways to end a timer from inside its handler.
    private static let waysInside:
        [(reason: PreciseTimer.EndReason, end: @Sendable (PreciseTimer, TimerService) -> Bool)] = [
            (.cancelled, { timer, _ in timer.cancel() }), (.cancelled, { timer, _ in timer.cancelAndWait() }),
            (.serviceShutDown, { _, service in service.shutdown() }),
            (.completed, { timer, _ in timer.state == .scheduled }),
        ]

    @Test(arguments: Ground.all, waysInside.indices)
    func anEndInsideTheHandlerIsReportedAfterItsReturn(ground: Ground, way: Int) throws {
        let (site, words) = (try ground.site(), Notes<String>())
        let (service, inside) = (site.service, Self.waysInside[way])
        let timer = try PreciseTimer.schedule(
            .every(.milliseconds(1), after: .milliseconds(5), count: inside.reason == .completed ? 1 : nil),
            on: service,
            onEnd: { words.append("\($0)") },
            handler: { timer, _ in
                let isEnding = inside.end(timer, service)
                let again = inside.reason == .completed ? false : timer.cancelAndWait()
                words.append("\(isEnding), again: \(again)")
            }
        )
        #expect(site.until { words.all.count >= 2 })
        #expect(timer.state == .ended(inside.reason) && !timer.cancel())
        site.service.shutdown()
        #expect(words.all == ["true, again: false", "\(inside.reason)"])
    }
}

/// Errors of handlers of every form.
@Suite(.waits("handlers run on threads of their own"), .timeLimit(.minutes(60))) struct ThrowingHandlerTests {
    /// What is heard if the timer goes on after its first tick, up to the `cancel()` at last.
    private static func goesOn(
        _ fault: Life.Fault,
        _ onError: Life.OnError,
        _ told: @escaping @Sendable (HandlerForm) -> String
    ) -> Life {
        Life(fault: fault, onError: onError) { form in
            ["", "runs \(form.place), \(told(form))", "runs \(form.place)", "released, cancelled inline, over"]
        }
    }

    /// What is heard if the timer ends with its first tick.
    private static func ends(
        _ fault: Life.Fault,
        _ onError: Life.OnError = .isMissing,
        _ deed: Life.Deed = .nothing,
        _ moment: Life.Moment = .beforeTheTick,
        _ events: @escaping @Sendable (HandlerForm) -> String
    ) -> Life {
        Life(deed: deed, moment: moment, fault: fault, onError: onError) { form in
            let isStopped = moment == .besideTheHandler && form.isInTask
            return ["", "runs \(form.place)\(isStopped ? ", is stopped" : ""), \(events(form)), over"]
        }
    }

    private static let lives = [
        ends(.bad) { "released, failed: Bad() \($0.place)" },
        goesOn(.bad, .takes) { "told Bad() \($0.placeOfError)" },
        ends(.bad, .fails) { "told Bad() \($0.placeOfError), released, failed: Worse() \($0.place)" },
        ends(.bad, .cancelsAndWaits) { "told Bad() \($0.placeOfError), released, cancelled \($0.place)" },
        // Nobody has cancelled the handler's task.
        ends(.cancellation) { "released, failed: CancellationError() \($0.place)" },
        goesOn(.cancellation, .takes) { "told CancellationError() \($0.placeOfError)" },
        ends(.cancellation, .takes, .cancel, .inTheHandler) {
            "told CancellationError() \($0.placeOfError), released, cancelled \($0.place)"
        },
        // The end of the timer has cancelled it.
        ends(.cancellation, .takes, .cancel, .besideTheHandler) {
            ($0.isInTask ? "" : "told CancellationError() \($0.placeOfError), ") + "released, cancelled \($0.place)"
        },
        ends(.bad, .fails, .shutDown, .besideTheHandler) {
            "told Bad() \($0.placeOfError), released, service shut down \($0.place)"
        },
        ends(.bad, .isMissing, .cancel, .besideTheHandler) { "released, cancelled \($0.place)" },
    ]

    @Test(arguments: HandlerForm.allCases, lives)
    func anErrorOfAnyFormGoesToOnErrorOrEndsTheTimer(form: HandlerForm, life: Life) async throws {
        try await life.expectEvents(of: form)
    }

    /// A timer whose handler is called in place does not wait for it.
    private static let livesWithMainActor = [
        goesOn(.bad, .takesOnMain) { _ in "told Bad() main" },
        ends(.bad, .failsOnMain) { form in
            "told Bad() main, failed: Worse() \(form.isInTask ? form.place : "pool")"
        },
    ]

    @Test(arguments: HandlerForm.allCases.filter { !$0.isOfActor }, livesWithMainActor)
    func onErrorOfTheMainActorIsToldThere(form: HandlerForm, life: Life) async throws {
        try await life.expectEvents(of: form)
    }

    /// The end of a timer comes before anything is decided about the next one of the round, which goes on.
    @Test func onEndMayEndADueSibling() throws {
        let (virtual, events, timers) = (VirtualTime(), Notes<String>(), TimerBag())
        for number in 1...3 {
            try PreciseTimer.schedule(
                .every(.seconds(1)),
                on: virtual.service,
                target: events,
                onEnd: { reason in
                    events.append("\(number) \(reason)")
                    if number == 1 { timers.cancel("2") }
                },
                handler: { events, _ in
                    events.append("\(number) ticks")
                    throw CancellationError()
                }
            )
            .store(in: timers, named: "\(number)")
        }
        virtual.advance(by: .seconds(1))
        let failed = "failed: CancellationError()"
        #expect(events.all == ["1 ticks", "1 \(failed)", "2 cancelled", "3 ticks", "3 \(failed)"])
    }

    @Test(arguments: TimerService.Backend.available)
    func aHandlerThatThrowsRunsOnTheServicesThread(backend: TimerService.Backend) throws {
        let (service, threads, tasks) = (try TimerService(backend), Notes<ThreadID>(), Count())
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: threads) { threads, _ in
            threads.append(.current)
        }
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: threads) { threads, _ in
            tasks.add(unsafe withUnsafeCurrentTask { unsafe $0 == nil ? 0 : 1 })
            threads.append(.current)
            throw CancellationError()
        }
        #expect(eventually { threads.all.count == 2 })
        // A queue may change its thread.
        #expect(Set(threads.all).count == 1 || backend == .dispatch)
        #expect(tasks.value == 0)
    }
}

/// Promises 6 to 9, on every backend and on virtual time: cancelling, releasing, living and ending.
@Suite(.waits("a real alarm's thread releases the handler"), .timeLimit(.minutes(60))) struct ReleaseTests {
    /// Timers due at one instant. They are scheduled inside a handler, so that no tick is delivered before all are
    /// scheduled.
    @Test(arguments: Ground.all, [PreciseTimer.EndReason.cancelled, .serviceShutDown])
    func siblingsEndedInTheSameBatchDoNotRun(ground: Ground, reason: PreciseTimer.EndReason) throws {
        let site = try ground.site()
        let (service, ran, timers) = (site.service, Notes<Int>(), Box<[PreciseTimer]>())
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: ran) { ran, _ in
            let due = PreciseTimer.Schedule.every(.milliseconds(1), at: service.now.advanced(by: .milliseconds(2)))
            timers.value = (0..<5)
                .compactMap { number in
                    try? PreciseTimer.schedule(due, on: service, target: ran) { ran, _ in
                        ran.append(number)
                        if reason == .serviceShutDown { for _ in 0..<2 { service.shutdown() } }
                        for timer in timers.value ?? [] { timer.cancel() }
                    }
                }
        }
        #expect(site.until { !ran.all.isEmpty && service.pendingCount == 0 })
        site.pass(.milliseconds(10))
        #expect(ran.all == [0])
        #expect(timers.value?.map(\.state) == Array(repeating: .ended(reason), count: 5))
        timers.value = nil
    }

    @Test(arguments: Ground.all)
    func aHandlerMayDestroyTheOwnerOfItsTimer(ground: Ground) throws {
        let (site, owner, timer) = (try ground.site(), Box<Thing>(), Box<PreciseTimer>())
        let (ended, reasons) = (Notes<Bool>(), Notes<PreciseTimer.EndReason>())
        // The owner dies on the delivery context, so waiting for its own handler must not block.
        owner.value = Thing { if let timer = timer.value { ended.append(timer.cancelAndWait()) } }
        timer.value = try PreciseTimer.schedule(
            .every(.milliseconds(1), after: .milliseconds(5)),
            on: site.service,
            paused: true,
            target: try #require(owner.value),
            onEnd: reasons.append
        ) { _, tick in
            guard tick.index >= 1 else { return }
            // If the reaper holds the target now, the target dies a little later, and no tick may find it gone.
            try? timer.value?.reschedule(.once(after: .seconds(3_600)))
            owner.value = nil
        }
        timer.value?.resume()
        #expect(site.until { !ended.all.isEmpty && !reasons.all.isEmpty })
        site.pass(.milliseconds(10))
        #expect(ended.all == [true] && reasons.all == [.cancelled])
        timer.value = nil
    }
}

/// A timer whose target was released ends within seconds, however far away its deadline is, even if it is paused: on
/// every backend, on the host's loops and on virtual time.
@Suite(.waits("the reaper sweeps on its own clock"), .timeLimit(.minutes(60)))
struct DeadTargetTests {
    typealias Reason = PreciseTimer.EndReason

    private static let far = PreciseTimer.Schedule.once(after: .seconds(86_400))
    private static let every = PreciseTimer.Schedule.every(.milliseconds(1))

    /// A timer on a service, whether it is paused, and what is told of its end.
    private func schedule(
        _ due: PreciseTimer.Schedule,
        _ paused: Bool,
        on service: TimerService,
        target: Thing,
        _ reasons: Notes<Reason>
    ) throws -> PreciseTimer {
        try PreciseTimer.schedule(due, on: service, paused: paused, target: target, onEnd: reasons.append) { _, _ in }
    }

    @Test(arguments: Ground.all, [(every, false), (every, true), (far, false), (.onDemand, false)])
    func aTimerEndsWithItsTarget(ground: Ground, form: (schedule: PreciseTimer.Schedule, isPaused: Bool)) throws {
        try expectEnd(on: try ground.site(), of: form.schedule, form.isPaused)
    }

    @Test func aTimerOnAHostsLoopEndsWithItsTargetEvenIfTheLoopDoesNotRun() throws {
        let timers = try TimerService.pollable()
        try expectEnd(on: Site(service: timers.service), of: Self.every)
    }

    private func expectEnd(on site: Site, of form: PreciseTimer.Schedule, _ isPaused: Bool = false) throws {
        let reasons = Notes<Reason>()
        var target: Thing? = Thing()
        weak let gone = target
        let timer = try schedule(form, isPaused, on: site.service, target: try #require(target), reasons)
        site.pass(.milliseconds(5))
        #expect(reasons.all == [])
        target = nil
        #expect(site.until { gone == nil }, "neither the timer nor its handle retains it")
        #expect(site.until { !reasons.all.isEmpty })
        site.pass(.milliseconds(5))
        #expect(reasons.all == [.targetReleased] && timer.state == .ended(.targetReleased))
        #expect(site.service.pendingCount == 0)
    }

    /// Other threads get the lock in between: the first timer is finalized while nearly all timers are still there.
    @Test(arguments: [Reason.targetReleased, .serviceShutDown])
    func aThousandTimersEndInPortions(reason: Reason) throws {
        let (virtual, left) = (VirtualTime(), Notes<Int>())
        let service = virtual.service
        var target: Thing? = Thing()
        for _ in 0..<1_000 {
            let onEnd: @Sendable (Reason) -> Void = { [weak service] _ in left.append(service?.pendingCount ?? 0) }
            try PreciseTimer.schedule(Self.far, on: service, target: try #require(target), onEnd: onEnd) { _, _ in }
        }
        if reason == .serviceShutDown { service.shutdown() }
        target = nil
        service.endTimersOfDeadTargets()
        #expect(left.all.count == 1_000 && service.pendingCount == 0)
        #expect(left.all.first.map { (900..<1_000).contains($0) } == true, "\(left.all.first ?? -1) of 1,000 are left")
    }

    /// The first timer is the last that the sweep comes to.
    @Test func aSweepGoesOnIfOnEndEndsMostOtherTimers() throws {
        let (service, others, reasons) = (VirtualTime().service, TimerBag(), Notes<Reason>())
        try PreciseTimer.schedule(Self.far, on: service, target: Thing(), onEnd: reasons.append) { _, _ in }
        for _ in 0..<200 { try PreciseTimer.schedule(Self.far, on: service) { _, _ in }.store(in: others) }
        let cancelOthers: @Sendable (Reason) -> Void = { _ in others.cancelAll() }
        try PreciseTimer.schedule(Self.far, on: service, target: Thing(), onEnd: cancelOthers) { _, _ in }
        service.endTimersOfDeadTargets()
        #expect(reasons.all == [.targetReleased] && service.pendingCount == 0)
    }

    /// The sweep has seen the living target, whose last reference `onEnd` drops.
    @Test func aSweepHoldsNoLivingTargetWhileOnEndRuns() throws {
        let (virtual, living, releases, seen) = (VirtualTime(), Box<Thing>(), Count(), Notes<Int>())
        living.value = Thing { releases.add(1) }
        let onEnd: @Sendable (Reason) -> Void = { _ in
            living.value = nil
            seen.append(releases.value)
        }
        for target in [Thing(), try #require(living.value)] {
            try PreciseTimer.schedule(.onDemand, on: virtual.service, target: target, onEnd: onEnd) { _, _ in }
        }
        virtual.service.endTimersOfDeadTargets()
        #expect(seen.all == [1])
        virtual.service.endTimersOfDeadTargets()
        #expect(seen.all == [1, 1])
    }

    /// A sweep and a reader of all timers hold each target for a moment, so their reference may be the last one. A
    /// target's `deinit` may use the service: under the lock, that would end the process.
    @Test func noTargetIsReleasedUnderTheLock() async {
        await #expect(processExitsWith: .success) {
            let (service, isOver) = (VirtualTime().service, Box<Bool>())
            try onThreads(2) { thread in
                while thread == 1, isOver.value == nil {
                    for _ in 0..<30 { service.endTimersOfDeadTargets() }
                    _ = service.activeTimers
                }
                for _ in 0..<500 where thread == 0 {
                    let target = Thing { _ = service.pendingCount }
                    for _ in 0..<16 {
                        _ = try? PreciseTimer.schedule(Self.far, on: service, target: target) { _, _ in }
                    }
                    // The other thread is somewhere in its loop when the owner lets the target go.
                    pause(.microseconds(50))
                }
                isOver.value = true
            }
        }
    }

    @Test(arguments: [(every, true), (.onDemand, false)])
    func aTimerThatIsPausedOrRestsKeepsItsServiceUntilItEnds(
        form: (schedule: PreciseTimer.Schedule, isPaused: Bool)
    ) throws {
        let reasons = Notes<Reason>()
        weak var service: TimerService?
        var target: Thing? = Thing()
        do {
            let own = try TimerService(.usual)
            service = own
            _ = try schedule(form.schedule, form.isPaused, on: own, target: try #require(target), reasons)
        }
        pause(.milliseconds(20))
        #expect(target != nil && service != nil)
        target = nil
        #expect(eventually { reasons.all.count == 1 && service == nil })
    }
}
