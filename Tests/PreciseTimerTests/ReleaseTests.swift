import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

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

    @Test(arguments: Ground.all, [PreciseTimer.State.ended(.cancelled), .ended(.completed)])
    func anEndedTimersCapturesAreReleasedEvenIfTheHandleIsKept(ground: Ground, end: PreciseTimer.State) throws {
        let (site, target, released) = (try ground.site(), Thing(), Count())
        let once = PreciseTimer.Schedule.once(after: .milliseconds(5))
        let timer = try PreciseTimer.schedule(once, on: site.service, paused: true, target: target) {
            [captured = Thing { released.add(1) }] _, _ in withExtendedLifetime(captured) {}
        }
        #expect(released.value == 0)
        if end == .ended(.cancelled) {
            timer.cancel()
            #expect(released.value == 1)
        }
        timer.resume()
        #expect(site.until { released.value == 1 })
        #expect(site.until { timer.state == end })
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

    private actor Employee {}

    /// A form of timer: schedules it, and returns it with its target.
    struct Form: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let schedule:
            @Sendable (TimerService, @escaping @Sendable (Reason) -> Void) throws
                -> (PreciseTimer, any AnyObject & Sendable)
    }

    private static let far = PreciseTimer.Schedule.once(after: .seconds(86_400))
    private static let every = PreciseTimer.Schedule.every(.milliseconds(1))
    private static let forms = [
        form("ticking", every), form("paused", every, paused: true), form("far", far), form("resting", .onDemand),
        Form(testDescription: "of an actor") { service, onEnd in
            let target = Employee()
            return (try PreciseTimer.schedule(far, on: service, target: target, onEnd: onEnd) { _, _ in }, target)
        },
        Form(testDescription: "of the main actor") { service, onEnd in
            let target = Thing()
            let timer = try PreciseTimer.schedule(far, on: service, target: target, onEnd: onEnd) { @MainActor _, _ in }
            return (timer, target)
        },
    ]

    private static func form(_ name: String, _ schedule: PreciseTimer.Schedule, paused: Bool = false) -> Form {
        Form(testDescription: name) { service, onEnd in
            let target = Thing()
            let timer = try PreciseTimer.schedule(
                schedule,
                on: service,
                paused: paused,
                target: target,
                onEnd: onEnd
            ) { _, _ in }
            return (timer, target)
        }
    }

    @Test(arguments: Ground.all, forms)
    func aTimerEndsWithItsTarget(ground: Ground, form: Form) throws {
        try expectEnd(on: try ground.site(), of: form)
    }

    @Test func aTimerOnAHostsLoopEndsWithItsTargetEvenIfTheLoopDoesNotRun() throws {
        let timers = try TimerService.pollable()
        try expectEnd(on: Site(service: timers.service), of: Self.forms[0])
    }

    private func expectEnd(on site: Site, of form: Form) throws {
        let reasons = Notes<Reason>()
        var (timer, target): (PreciseTimer, (any AnyObject & Sendable)?) = try form.schedule(
            site.service,
            reasons.append
        )
        weak let gone = target
        site.pass(.milliseconds(5))
        #expect(reasons.all == [])
        target = nil
        #expect(site.until { gone == nil }, "neither the timer nor its handle retains it")
        #expect(site.until { !reasons.all.isEmpty })
        site.pass(.milliseconds(5))
        #expect(reasons.all == [.targetReleased] && timer.state == .ended(.targetReleased))
        #expect(site.service.pendingCount == 0)
    }

    @Test func allTimersOfManyDeadTargetsEndAndTheOthersGoOn() throws {
        let (service, survivor, ends) = (try TimerService(.usual), Thing(), Count())
        var targets: [Thing]? = (0..<10_000).map { _ in Thing() }
        let onEnd: @Sendable (Reason) -> Void = { if $0 == .targetReleased { ends.add(1) } }
        for target in targets ?? [] {
            for target in [target, survivor] {
                try PreciseTimer.schedule(Self.far, on: service, target: target, onEnd: onEnd) { _, _ in }
            }
        }
        targets = nil
        #expect(eventually { ends.value == 10_000 })
        #expect(service.pendingCount == 10_000)
        withExtendedLifetime(survivor) {}
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

    @Test func aDeadTargetIsFoundEvenIfTimersWereAddedSinceTheLastSearch() throws {
        let (scene, reasons) = (Scene(), Notes<Reason>())
        var target = try? Self.form("paused", Self.every, paused: true).schedule(scene.virtual.service, reasons.append)
            .1
        #expect(target != nil)
        scene.advance(2_000)
        target = nil
        try scene.timer(.every(.seconds(100)))
        scene.advance(2_000)
        #expect(reasons.all == [.targetReleased])
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

    @Test(arguments: forms.filter { ["paused", "resting"].contains($0.testDescription) })
    func aTimerThatIsPausedOrRestsKeepsItsServiceUntilItEnds(form: Form) throws {
        let ends = Count()
        weak var service: TimerService?
        var target: (any AnyObject & Sendable)? = try {
            let own = try TimerService(.usual)
            service = own
            return try form.schedule(own) { _ in ends.add(1) }.1
        }()
        pause(.milliseconds(20))
        #expect(target != nil && service != nil)
        target = nil
        #expect(eventually { ends.value == 1 && service == nil })
    }
}

/// The form of `schedule` that takes a target.
struct TargetFormTests {
    private let scene = Scene()

    @Test func theOrdinaryFormPassesOnAllItsArguments() throws {
        let endings = Notes<PreciseTimer.EndReason>()
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: scene.virtual.service,
            tolerance: .milliseconds(500),
            missedTicks: .catchUp(limit: 2),
            label: "step",
            paused: true,
            target: scene.log,
            onEnd: endings.append
        ) { $0.note($1) }
        #expect(timer.label == "step" && timer.state == .paused)
        timer.resume()
        scene.advance(1_500)
        #expect(try #require(scene.log.ticks.first).lateness > .zero, "it may be late by its tolerance")
        scene.jump(3_000)
        #expect(scene.log.ticks.map(\.missed) == [0, 0, 1], "two late ticks at most, and the last carries the rest")
        timer.cancel()
        #expect(endings.all == [.cancelled] && timer.label == "step")
    }
}
