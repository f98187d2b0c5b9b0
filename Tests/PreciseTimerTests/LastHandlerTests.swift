import Dispatch
import PreciseTimer
import PreciseTimerPatterns
import PreciseTimerTestKit
import TestSupport
import Testing

/// Last ticks whose handlers set their timers again, and waits whose limit passes.
@Suite(.waits("callers wait in tasks of their own"), .timeLimit(.minutes(60))) struct LastHandlerTests {
    private let log = Log()
    private let reasons = Notes<PreciseTimer.EndReason>()

    /// A timer whose every handler sets it again.
    private func persistent(
        on service: TimerService,
        in place: Place,
        again: PreciseTimer.Schedule = .once(after: .milliseconds(20))
    ) throws -> PreciseTimer {
        let (box, log) = (Box<Weak>(), log)
        let timer = try place.schedule(.onDemand, on: service, target: log, onEnd: reasons.append) { tick in
            log.note(tick)
            try? box.value?.timer?.reschedule(again)
        }
        box.value = Weak(timer)
        return timer
    }

    private struct Weak: Sendable {
        weak let timer: PreciseTimer?

        init(_ timer: PreciseTimer) { self.timer = timer }
    }

    @Test(arguments: DeliveryKind.allCases)
    func finishReturnsFalseIfTheLastHandlerSetsItsTimerAgain(kind: DeliveryKind) async throws {
        let (service, place) = (try TimerService(.usual), Place(kind))
        let timer = try persistent(on: service, in: place)
        #expect(try await !timer.finish())
        #expect(timer.state == .scheduled)
        #expect(await soon { log.count >= 3 }, "the timer goes on")
        #expect(log.ticks.map(\.isExtra).prefix(3) == [true, false, false])
        await timer.cancelAndWait()
        service.shutdown()
    }

    @Test func finishReturnsFalseIfTheRunningHandlerSetsItsTimerAgain() async throws {
        let (virtual, box, isRunning, mayReturn) = (VirtualTime(), Box<PreciseTimer>(), Gate(), Gate())
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { log, tick in
            log.note(tick)
            isRunning.open()
            await mayReturn.pass()
            try box.value?.reschedule(.every(.seconds(60)))
        }
        box.value = timer
        virtual.advanceWithoutSettling(by: .seconds(1))
        await isRunning.pass()
        let finishing = Task.immediate { try await timer.finish() }
        mayReturn.open()
        #expect(try await !finishing.value)
        #expect(timer.state == .scheduled && log.count == 1)
        box.value = nil
    }

    @Test(arguments: DeliveryKind.allCases)
    func aBagEndsATimerThatItsLastHandlerSetsAgain(kind: DeliveryKind) async throws {
        let (service, place, bag) = (try TimerService(.usual), Place(kind), TimerBag())
        let timer = try persistent(on: service, in: place, again: .once(after: .zero)).store(in: bag)
        try await bag.finishAll()
        #expect(timer.state == .ended(.cancelled))
        #expect(reasons.all == [.cancelled])
        await place.settle()
        #expect(log.count == 1, "no tick starts after the last one")
        service.shutdown()
    }

    @Test(arguments: Ground.all)
    func aShutdownEndsATimerThatItsLastHandlerSetsAgain(ground: Ground) async throws {
        let site = try ground.site()
        let timer = try persistent(on: site.service, in: Place(.inline))
        let ending = Task { try await site.service.shutdownAndWait(lastTick: true) }
        if let virtual = site.virtual {
            #expect(
                await soon {
                    virtual.advanceWithoutSettling(by: .zero)
                    return virtual.pendingCount == 0
                }
            )
        }
        #expect(try await ending.value)
        #expect(log.count == 1 && timer.state == .ended(.cancelled))
    }

    @Test(arguments: [Duration.seconds(3_600), .seconds(Int64.max)])
    func aShutdownWithALimitEndsATimerThatItsLastHandlerSetsAgain(limit: Duration) async throws {
        let service = try TimerService(.usual)
        let timer = try persistent(on: service, in: Place(.mainActor))
        #expect(try await service.shutdownAndWait(lastTick: true, within: limit))
        #expect(log.count == 1 && timer.state == .ended(.cancelled))
    }

    /// One caller wants the timer to end with its last handler, and another one only waits for it.
    @Test func ofTwoWaitsTheOneThatEndsTheTimerDecides() async throws {
        let (virtual, bag) = (VirtualTime(), TimerBag())
        let timer = try persistent(on: virtual.service, in: Place(.inline)).store(in: bag)
        let finishing = Task.immediate { try await timer.finish() }
        let ending = Task.immediate { try await bag.finishAll() }
        virtual.advanceWithoutSettling(by: .zero)
        try await ending.value
        #expect(try await !finishing.value)
        #expect(log.count == 1 && timer.state == .ended(.cancelled))
    }

    @Test func aBagIsFinishedFromInsideAHandlerThatSetsItsTimerAgain() async throws {
        let (virtual, bag, box, isOver) = (VirtualTime(), TimerBag(), Box<PreciseTimer>(), Gate())
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { log, tick in
            log.note(tick)
            if !tick.isExtra { try await bag.finishAll() }
            try box.value?.reschedule(.every(.seconds(1)))
            isOver.open()
        }
        box.value = timer.store(in: bag)
        virtual.advanceWithoutSettling(by: .seconds(1))
        await isOver.pass()
        #expect(await soon { timer.state == .ended(.cancelled) })
        box.value = nil
    }

    // MARK: Triggers

    /// The handler's own calls, and those of other threads, go on during the shutdown.
    @Test(arguments: [BurstEdge.leading, .trailing, .both])
    func aThrottleThatIsCalledOnAndOnIsShutDown(edge: BurstEdge) async throws {
        let (service, calls, box, isOver) = (try TimerService(.usual), Count(), Box<CallLimiter>(), Gate())
        let trigger = try Throttler(.microseconds(100), edge: edge, on: service, target: log) { _ in
            calls.add(1)
            box.value?()
        }
        box.value = trigger
        let calling = Task.detached {
            while !isOver.isPassable {
                trigger()
                await Task.yield()
            }
        }
        #expect(await soon { calls.value > 2 })
        #expect(try await service.shutdownAndWait(lastTick: true))
        let last = calls.value
        isOver.open()
        await calling.value
        box.value = nil
        #expect(calls.value == last, "nothing is called after the end")
    }

    /// The tick of the leading edge is due, and becomes the last one: it stands for the call that follows, too.
    @Test func theLastTickOfAThrottleLetsTheWaitingCallThrough() async throws {
        let (virtual, calls, seen) = (VirtualTime(), Count(), Notes<Int>())
        let trigger = try Throttler(.seconds(60), on: virtual.service, target: log) { _ in
            seen.append(calls.value)
        }
        for _ in 1...2 {
            calls.add(1)
            trigger()
        }
        let ending = Task.immediate { try await virtual.service.shutdownAndWait(lastTick: true) }
        virtual.advanceWithoutSettling(by: .zero)
        #expect(try await ending.value)
        #expect(seen.all == [2])
    }

    /// The window was made longer, and its first end, which is due, becomes the last tick.
    @Test func theLastTickOfADebounceThatGoesOnLetsTheWaitingCallThrough() async throws {
        let (virtual, calls) = (VirtualTime(), Count())
        let trigger = try Debouncer(.seconds(10), on: virtual.service, target: log) { _ in calls.add(1) }
        trigger()
        virtual.advanceWithoutSettling(by: .seconds(9))
        trigger()
        virtual.inject(.wakeLate(by: .seconds(5)))
        virtual.advanceWithoutSettling(by: .seconds(2))
        #expect(calls.value == 0)
        let ending = Task.immediate { try await virtual.service.shutdownAndWait(lastTick: true) }
        virtual.advanceWithoutSettling(by: .seconds(5))
        #expect(try await ending.value)
        #expect(calls.value == 1)
    }

    // MARK: Limits

    @Test func onlyTheTimersWhoseHandlersRunAreNamed() async throws {
        let (bag, isRunning, mayReturn, virtual) = (TimerBag(), Gate(), Gate(), VirtualTime())
        try PreciseTimer.schedule(.every(.seconds(3_600)), label: "stuck", target: log) { _, _ in
            isRunning.open()
            await mayReturn.pass()
        }
        .store(in: bag, named: "stuck")
        // Nobody moves its time, so its last tick does not come.
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, label: "silent", target: log) { _, _ in }
            .store(in: bag)
        bag["stuck"]?.fire()
        await isRunning.pass()
        let error = await #expect(throws: TimerError.self) { try await bag.finishAll(within: .milliseconds(50)) }
        #expect(error?.code == .handlerRunning)
        #expect(error?.attempted.contains("\"stuck\"") == true && error?.attempted.contains("\"silent\"") == false)
        mayReturn.open()
    }

    /// Nobody moves the time, so no handler runs.
    @Test func aLastTickThatDoesNotComeIsNamed() async throws {
        let (virtual, bag) = (VirtualTime(), TimerBag())
        for label in ["first", "second"] {
            try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, label: label, target: log) {
                $0.note($1)
            }
            .store(in: bag, named: label)
        }
        bag["second"]?.pause(keeping: .grid)
        let error = await #expect(throws: TimerError.self) { try await bag.finishAll(within: .milliseconds(20)) }
        #expect(error?.code == .lastTickPending)
        #expect(error?.attempted.contains("20 ms for the last tick of timer \"first\" (") == true)
        #expect(error?.attempted.contains("second") == false, "a paused timer has no last tick")
        #expect(virtual.pendingCount == 0, "the limit ends the timers")
    }

    @Test func aHandlerOfATimerThatHadEndedBeforeIsNamed() async throws {
        let (service, isRunning, mayReturn) = (try TimerService(.usual), Gate(), Gate())
        let timer = try PreciseTimer.schedule(.once(after: .zero), on: service, label: "gone", target: log) {
            timer,
            _ in
            isRunning.open()
            await mayReturn.pass()
        }
        await isRunning.pass()
        timer.cancel()
        let error = await #expect(throws: TimerError.self) {
            try await service.shutdownAndWait(lastTick: true, within: .milliseconds(20))
        }
        #expect(error?.code == .handlerRunning)
        #expect(error?.attempted.contains("20 ms for the end of timer \"gone\" (") == true)
        mayReturn.open()
        await timer.cancelAndWait()
    }

    /// A process of its own, because other tests take memory, too.
    @Test func aLimitLeavesNothingBehind() async throws {
        await #expect(processExitsWith: .success) {
            let (service, log) = (try TimerService(.timerFD), Log())
            func finishSome() async throws {
                for _ in 0..<5_000 {
                    let timer = try PreciseTimer.schedule(.onDemand, on: service, target: log) { _, _ in }
                    try await timer.finish(within: .seconds(3_600))
                }
            }
            try await finishSome()
            // A block for later takes some 570 bytes, each time. What Dispatch has not yet released takes memory once.
            var least = Int.max
            for _ in 0..<3 {
                let before = ProcFS.residentBytes
                try await finishSome()
                least = min(least, ProcFS.residentBytes - before)
            }
            #expect(least < 5_000 * 200, "\(least) bytes")
        }
    }
}
