import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// A timer whose target was released ends within seconds, however far away its deadline is, even if it is paused: on
/// every backend, on the host's loops and on virtual time.
@Suite(.waits("the reaper sweeps on its own clock"), .timeLimit(.minutes(60)))
struct DeadTargetTests {
    typealias Reason = PreciseTimer.EndReason

    @Test(arguments: Ground.all)
    func aPausedTimerEndsWithItsTarget(ground: Ground) throws {
        try expectEnd(on: try ground.site(), Thing.self) { service, target, onEnd in
            try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: target, onEnd: onEnd) { _, _ in }
                .pause(keeping: .grid)
        }
    }

    @Test(arguments: Ground.all)
    func aTimerWithAFarDeadlineEndsWithItsTarget(ground: Ground) throws {
        try expectEnd(on: try ground.site(), Thing.self) { service, target, onEnd in
            try PreciseTimer.schedule(.once(after: .seconds(86_400)), on: service, target: target, onEnd: onEnd) {
                _,
                _ in
            }
        }
    }

    @Test(arguments: Ground.all)
    func aRestingTimerEndsWithItsTarget(ground: Ground) throws {
        try expectEnd(on: try ground.site(), Thing.self) { service, target, onEnd in
            try PreciseTimer.schedule(.onDemand, on: service, target: target, onEnd: onEnd) { _, _ in }
        }
    }

    @Test(arguments: Ground.all)
    func anActorsTimerWithAFarDeadlineEndsWithTheActor(ground: Ground) throws {
        try expectEnd(on: try ground.site(), Employee.self) { service, target, onEnd in
            try PreciseTimer.schedule(.once(after: .seconds(86_400)), on: service, target: target, onEnd: onEnd) {
                _,
                _ in
            }
        }
    }

    @Test(arguments: Ground.all)
    func aTimerOfTheMainActorWithAFarDeadlineEndsWithItsTarget(ground: Ground) throws {
        try expectEnd(on: try ground.site(), Thing.self) { service, target, onEnd in
            try PreciseTimer.schedule(.once(after: .seconds(86_400)), on: service, target: target, onEnd: onEnd) {
                @MainActor _, _ in
            }
        }
    }

    @Test func aTimerOnAHostsLoopEndsWithItsTargetEvenIfTheLoopDoesNotRun() throws {
        let timers = try TimerService.pollable()
        try expectEnd(on: Site(service: timers.service), Thing.self) { service, target, onEnd in
            try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: target, onEnd: onEnd) { _, _ in }
        }
    }

    @Test func allTimersOfManyDeadTargetsEndAndTheOthersGoOn() throws {
        let service = try TimerService(.usual)
        let (survivor, ends) = (Thing(), Count())
        var targets: [Thing]? = (0..<10_000).map { _ in Thing() }
        for target in targets ?? [] {
            for target in [target, survivor] {
                try PreciseTimer.schedule(
                    .once(after: .seconds(3_600)),
                    on: service,
                    target: target,
                    onEnd: { if $0 == .targetReleased { ends.add(1) } },
                    handler: { _, _ in }
                )
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
            try PreciseTimer.schedule(
                .once(after: .seconds(3_600)),
                on: service,
                target: try #require(target),
                onEnd: { [weak service] reason in left.append(service?.pendingCount ?? 0) },
                handler: { _, _ in }
            )
        }
        if reason == .serviceShutDown { service.shutdown() }
        target = nil
        service.endTimersOfDeadTargets()
        #expect(left.all.count == 1_000)
        #expect(left.all.first.map { (900..<1_000).contains($0) } == true, "\(left.all.first ?? -1) of 1,000 are left")
        #expect(service.pendingCount == 0)
    }

    @Test func aDeadTargetIsFoundEvenIfTimersWereAddedSinceTheLastSearch() throws {
        let (virtual, reasons) = (VirtualTime(), Notes<Reason>())
        var target: Thing? = Thing()
        try PreciseTimer.schedule(
            .every(.seconds(100)),
            on: virtual.service,
            paused: true,
            target: try #require(target),
            onEnd: { reasons.append($0) },
            handler: { _, _ in }
        )
        virtual.advance(by: .seconds(2))
        target = nil
        try PreciseTimer.schedule(.every(.seconds(100)), on: virtual.service, target: reasons) { _, _ in }
        virtual.advance(by: .seconds(2))
        #expect(reasons.all == [.targetReleased])
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

    @Test func theServiceAndThreadOfAPausedTimerEndWithIt() throws {
        let ends = Count()
        var target: Thing? = Thing()
        weak var service: TimerService?
        do {
            let own = try TimerService(.usual)
            service = own
            try PreciseTimer.schedule(
                .every(.milliseconds(1)),
                on: own,
                paused: true,
                target: try #require(target),
                onEnd: { _ in ends.add(1) },
                handler: { _, _ in }
            )
        }
        #expect(service != nil, "a pending timer keeps its service")
        target = nil
        #expect(eventually { ends.value == 1 && service == nil })
    }

    /// Releases the target of a timer whose handle was dropped, and expects one ending for the right reason.
    private func expectEnd<Target: Mortal>(
        on site: Site,
        _ type: Target.Type,
        schedule: (TimerService, Target, @escaping @Sendable (Reason) -> Void) throws -> Any
    ) throws {
        let reasons = Notes<Reason>()
        var target: Target? = type.init()
        weak let gone = target
        _ = try schedule(site.service, try #require(target)) { reasons.append($0) }
        site.pass(.milliseconds(5))
        #expect(reasons.all == [])
        target = nil
        #expect(site.until { gone == nil }, "the timer does not retain it")
        #expect(site.until { !reasons.all.isEmpty })
        site.pass(.milliseconds(5))
        #expect(reasons.all == [.targetReleased])
        #expect(site.service.pendingCount == 0)
    }

    private actor Employee: Mortal {}
}

/// A target that a test can create.
private protocol Mortal: AnyObject, Sendable {
    init()
}

extension Thing: Mortal {
    fileprivate convenience init() { self.init(onDeinit: nil) }
}
