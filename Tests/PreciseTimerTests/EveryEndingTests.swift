import PreciseTimer
import TestSupport
import Testing

/// Promise 9, on every backend and on virtual time: one ending, for one reason, reported once, and awaited by
/// `cancelAndWait`.
@Suite(.waits("every backend ends a timer by itself"), .timeLimit(.minutes(60))) struct EveryEndingTests {
    private let reasons = Notes<PreciseTimer.EndReason>()

    @Test(arguments: Ground.all)
    func onlyTheFirstOfManyEndingsIsReported(ground: Ground) throws {
        let site = try ground.site()
        let timer = try schedule(.once(after: .seconds(3_600)), on: site.service, Thing())
        #expect(site.until { timer.state == .ended(.targetReleased) }, "its target was already released")
        #expect(site.until { !reasons.all.isEmpty })
        timer.cancel()
        site.service.shutdown()
        site.pass(.milliseconds(5))
        #expect(reasons.all == [.targetReleased])
        #expect(timer.state == .ended(.targetReleased))
    }

    @Test(arguments: Ground.all)
    func onEndHasBeenCalledWhenCancelReturns(ground: Ground) throws {
        let site = try ground.site()
        let target = Thing()
        let timer = try schedule(.once(after: .seconds(3_600)), on: site.service, target)
        #expect(timer.cancel())
        #expect(reasons.all == [.cancelled])
        #expect(timer.cancel() == false)
        site.service.shutdown()
        #expect(reasons.all == [.cancelled])
        withExtendedLifetime(target) {}
    }

    @Test(arguments: Ground.all)
    func aShutdownCallsOnEndOnceForEachTimer(ground: Ground) throws {
        let site = try ground.site()
        let target = Thing()
        let timers = try (0..<10).map { _ in try schedule(.every(.milliseconds(1)), on: site.service, target) }
        site.pass(.milliseconds(3))
        site.service.shutdown()
        site.service.shutdown()
        #expect(site.until { reasons.all.count == 10 }, "after running handlers have returned")
        for timer in timers { timer.cancel() }
        #expect(reasons.all == Array(repeating: .serviceShutDown, count: 10))
        withExtendedLifetime(target) {}
    }

    @Test(arguments: Ground.all)
    func aTimerCompletesAfterItsLastDeadline(ground: Ground) throws {
        let site = try ground.site()
        let target = Thing()
        let timer = try schedule(.once(after: .milliseconds(1)), on: site.service, target)
        #expect(site.until { !reasons.all.isEmpty })
        #expect(timer.cancel() == false)
        #expect(reasons.all == [.completed])
    }

    @Test(arguments: Ground.all)
    func theCapturesOfOnEndAreReleasedAfterItsCall(ground: Ground) throws {
        let site = try ground.site()
        let target = Thing()
        let released = Count()
        var captured: Thing? = Thing { released.add(1) }
        let timer = try PreciseTimer.schedule(
            .once(after: .seconds(3_600)),
            on: site.service,
            target: target,
            onEnd: { [captured] _ in withExtendedLifetime(captured) {} },
            handler: { _, _ in }
        )
        captured = nil
        #expect(released.value == 0)
        timer.cancel()
        #expect(released.value == 1)
    }

    @Test(arguments: Ground.all)
    func onEndIsCalledAfterTheHandlerThatEndedTheTimerReturned(ground: Ground) throws {
        let site = try ground.site()
        let events = Notes<String>()
        let timer = try PreciseTimer.schedule(
            .every(.milliseconds(1), after: .milliseconds(5)),
            on: site.service,
            onEnd: { _ in events.append("end") },
            handler: { timer, _ in
                events.append("cancelled: \(timer.cancel())")
                events.append("again: \(timer.cancelAndWait())")
            }
        )
        #expect(site.until { events.all.count >= 3 })
        #expect(events.all == ["cancelled: true", "again: false", "end"])
        #expect(timer.state == .ended(.cancelled))
    }

    @Test(arguments: Ground.all)
    func cancelAndWaitWaitsForTheRunningHandlerAndOnEnd(ground: Ground) throws {
        let site = try ground.site()
        let (entered, events) = (Gate(), Notes<String>())
        let (target, held) = (Thing(), Box<PreciseTimer>())
        let timer = try PreciseTimer.schedule(
            .once(after: .milliseconds(1)),
            on: site.service,
            target: target,
            onEnd: { _ in events.append("end") },
            handler: { _, _ in
                entered.open()
                _ = eventually { held.value?.state == .ended(.cancelled) }
                pause(.milliseconds(20))
                events.append("returned")
            }
        )
        held.value = timer
        defer { held.value = nil }
        // On virtual time, handlers run on the thread that moves the time.
        try onThreads(2) { thread in
            if thread == 0 { return site.pass(.milliseconds(5)) }
            entered.pass()
            let isEnding = timer.cancelAndWait()
            events.append("waited: \(isEnding)")
        }
        #expect(events.all == ["returned", "end", "waited: true"])
    }

    @Test(arguments: Ground.all)
    func cancelAndWaitWithoutARunningHandlerReturnsAtOnce(ground: Ground) throws {
        let site = try ground.site()
        let target = Thing()
        let timer = try schedule(.once(after: .seconds(3_600)), on: site.service, target)
        #expect(timer.cancelAndWait())
        #expect(timer.cancelAndWait() == false)
        #expect(reasons.all == [.cancelled])
        withExtendedLifetime(target) {}
    }

    private func schedule(
        _ schedule: PreciseTimer.Schedule,
        on service: TimerService,
        _ target: Thing
    ) throws -> PreciseTimer {
        let reasons = reasons
        return try PreciseTimer.schedule(
            schedule,
            on: service,
            target: target,
            onEnd: { reasons.append($0) },
            handler: { _, _ in }
        )
    }
}
