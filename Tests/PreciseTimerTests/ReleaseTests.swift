import PreciseTimer
import TestSupport
import Testing

/// Promises 6 to 9, on every backend and on virtual time: cancelling, releasing, living and ending.
@Suite(.waits("a real alarm's thread releases the handler"), .timeLimit(.minutes(60))) struct ReleaseTests {
    @Test(arguments: Ground.all)
    func siblingsCancelledInTheSameBatchDoNotRun(ground: Ground) throws {
        let site = try ground.site()
        let (ran, timers) = (Notes<Int>(), Box<[PreciseTimer]>())
        try scheduleTogether(5, on: site.service, ran, timers) { _ in
            for timer in timers.value ?? [] { timer.cancel() }
        }
        #expect(site.until { !ran.all.isEmpty && site.service.pendingCount == 0 })
        site.pass(.milliseconds(10))
        #expect(ran.all == [0])
        timers.value = nil
    }

    @Test(arguments: Ground.all)
    func shuttingDownInAHandlerKeepsDueSiblingsFromRunning(ground: Ground) throws {
        let site = try ground.site()
        let (service, ran, timers) = (site.service, Notes<Int>(), Box<[PreciseTimer]>())
        try scheduleTogether(5, on: service, ran, timers) { _ in
            service.shutdown()
            service.shutdown()
        }
        #expect(site.until { !ran.all.isEmpty && service.pendingCount == 0 })
        site.pass(.milliseconds(10))
        #expect(ran.all == [0])
        #expect(timers.value?.map(\.state) == Array(repeating: .ended(.serviceShutDown), count: 5))
        timers.value = nil
    }

    @Test(arguments: Ground.all)
    func cancellingAFarTimerReleasesItsHandlersCaptures(ground: Ground) throws {
        let site = try ground.site()
        let target = Thing()
        var captured: Thing? = Thing()
        weak let gone = captured
        let timer = try PreciseTimer.schedule(.once(after: .seconds(3_600)), on: site.service, target: target) {
            [captured] _, _ in withExtendedLifetime(captured) {}
        }
        captured = nil
        #expect(gone != nil)
        timer.cancel()
        #expect(gone == nil)
    }

    @Test(arguments: Ground.all)
    func aCompletedTimersCapturesAreReleasedEvenIfTheHandleIsKept(ground: Ground) throws {
        let site = try ground.site()
        let (target, released) = (Thing(), Count())
        var captured: Thing? = Thing { released.add(1) }
        let timer = try PreciseTimer.schedule(
            .once(after: .milliseconds(5)),
            on: site.service,
            paused: true,
            target: target
        ) { [captured] _, _ in withExtendedLifetime(captured) {} }
        captured = nil
        #expect(released.value == 0)
        timer.resume()
        #expect(site.until { released.value == 1 })
        #expect(site.until { timer.state == .ended(.completed) })
    }

    @Test(arguments: Ground.all)
    func aReleasedTargetEndsItsTimerEvenIfTheStateIsNotRead(ground: Ground) throws {
        let site = try ground.site()
        let (count, reasons) = (Count(), Notes<PreciseTimer.EndReason>())
        var target: Thing? = Thing()
        weak let gone = target
        try PreciseTimer.schedule(
            .every(.milliseconds(1)),
            on: site.service,
            target: try #require(target),
            onEnd: { reasons.append($0) },
            handler: { _, _ in count.add(1) }
        )
        #expect(site.until { count.value >= 3 })
        target = nil
        #expect(site.until { gone == nil })
        #expect(site.until { site.service.pendingCount == 0 })
        #expect(site.until { reasons.all == [.targetReleased] })
        let ticks = count.value
        site.pass(.milliseconds(10))
        #expect(count.value == ticks)
    }

    @Test(arguments: Ground.all)
    func aTimerWithoutATargetEndsWithItsHandle(ground: Ground) throws {
        let site = try ground.site()
        let (log, reasons) = (Log(), Notes<PreciseTimer.EndReason>())
        var timer: PreciseTimer? = try PreciseTimer.schedule(
            .every(.milliseconds(1)),
            on: site.service,
            onEnd: { reasons.append($0) },
            handler: { log.note($1) }
        )
        #expect(site.until { log.count >= 3 })
        #expect(timer?.state == .scheduled)
        timer = nil
        #expect(site.until { reasons.all == [.handleReleased] })
        #expect(site.service.pendingCount == 0)
        let count = log.count
        site.pass(.milliseconds(10))
        #expect(log.count == count)
    }

    @Test(arguments: Ground.all)
    func aHandlerMayDestroyTheOwnerOfItsTimer(ground: Ground) throws {
        let site = try ground.site()
        let (owner, timer, ended) = (Box<Thing>(), Box<PreciseTimer>(), Notes<Bool>())
        let reasons = Notes<PreciseTimer.EndReason>()
        // The owner dies on the delivery context, so waiting for its own handler must not block.
        owner.value = Thing { if let timer = timer.value { ended.append(timer.cancelAndWait()) } }
        timer.value = try PreciseTimer.schedule(
            .every(.milliseconds(1), after: .milliseconds(5)),
            on: site.service,
            paused: true,
            target: try #require(owner.value),
            onEnd: { reasons.append($0) },
            handler: { _, tick in
                guard tick.index >= 1 else { return }
                // If the reaper holds the target now, the target dies a little later, and no tick may find it gone.
                try? timer.value?.reschedule(.once(after: .seconds(3_600)))
                owner.value = nil
            }
        )
        timer.value?.resume()
        #expect(site.until { !ended.all.isEmpty && !reasons.all.isEmpty })
        site.pass(.milliseconds(10))
        #expect(ended.all == [true])
        #expect(reasons.all == [.cancelled])
        timer.value = nil
    }

    /// Timers due at one instant. They are scheduled inside a handler, so that no tick is delivered before all
    /// are scheduled.
    private func scheduleTogether(
        _ count: Int,
        on service: TimerService,
        _ ran: Notes<Int>,
        _ timers: Box<[PreciseTimer]>,
        handler: @escaping @Sendable (Int) -> Void
    ) throws {
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: ran) { ran, _ in
            let schedule = PreciseTimer.Schedule.every(.milliseconds(1), at: service.now.advanced(by: .milliseconds(2)))
            timers.value = (0..<count)
                .compactMap { number in
                    try? PreciseTimer.schedule(schedule, on: service, target: ran) { ran, _ in
                        ran.append(number)
                        handler(number)
                    }
                }
        }
    }
}
