import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Timers whose target is an actor with the default executor.
@Suite(.waits("actors run on threads of their own"), .timeLimit(.minutes(60))) struct ActorTests {
    private let virtual = VirtualTime()
    private let log = Log()

    @Test func aHandlerWithoutAwaitIsIsolatedToTheActor() async throws {
        let (meter, log) = (Meter(), log)
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: meter) { meter, tick in
            meter.assertIsolated()
            log.note(tick)
        }
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { log.count == 1 })
        withExtendedLifetime(meter) {}
    }

    @Test func aSuspendedHandlerDelaysOnlyItsOwnTicksAndMergesThem() async throws {
        let (meter, gate, log, other) = (Meter(), Gate(), log, Log())
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: meter) { meter, tick in
            meter.isRunning += 1
            if meter.isRunning > 1 { meter.overlaps += 1 }
            log.note(tick)
            await gate.pass()
            meter.isRunning -= 1
        }
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: other) { $0.note($1) }
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { log.count == 1 })
        virtual.advanceWithoutSettling(by: .seconds(9))
        #expect(other.count == 10)
        #expect(log.count == 1)
        gate.open()
        #expect(await soon { timer.nextDeadline != nil && virtual.service.nextWakeTime == timer.nextDeadline })
        virtual.advanceWithoutSettling(by: .zero)
        #expect(await soon { log.count == 2 })
        await timer.cancelAndWait()
        #expect(log.ticks.map(\.missed) == [0, 8])
        #expect(log.ticks.map(\.index) == [0, 1])
        #expect(await meter.overlaps == 0)
    }

    /// One task delivers both late ticks. A task that the first tick made is outside of the second.
    @Test func aTaskOfAnEarlierTickWaitsForTheHandlerOfTheNext() async throws {
        let (meter, holder) = (Meter(), Box<PreciseTimer>())
        let (isSecond, mayReturn, isOver) = (Gate(), Gate(), Gate())
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            missedTicks: .catchUp(limit: 2),
            target: meter
        ) { _, tick in
            if tick.index == 0 {
                Task {
                    await isSecond.pass()
                    await holder.value?.cancelAndWait()
                    isOver.open()
                }
            } else {
                isSecond.open()
                await mayReturn.pass()
            }
        }
        holder.value = timer
        virtual.jump(by: .seconds(2))
        #expect(await soon { timer.state == .ended(.cancelled) })
        // Long enough for a call that does not wait.
        try await Task.sleep(for: .milliseconds(20))
        #expect(!isOver.isPassable)
        mayReturn.open()
        await isOver.pass()
        holder.value = nil
    }

    @Test func aReleasedActorEndsItsTimer() async throws {
        let reasons = Notes<PreciseTimer.EndReason>()
        var meter: Meter? = Meter()
        weak let gone = meter
        try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            target: try #require(meter),
            onEnd: { reasons.append($0) },
            handler: { meter, _ in meter.isRunning += 1 }
        )
        meter = nil
        #expect(gone == nil)
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { reasons.all == [.targetReleased] })
        #expect(virtual.pendingCount == 0)
    }

    @Test func cancelAndWaitInsideAnActorsHandlerReturnsAtOnce() async throws {
        let (meter, events, timer) = (Meter(), Notes<String>(), Box<PreciseTimer>())
        timer.value = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            target: meter,
            onEnd: { _ in events.append("end") },
            handler: { _, _ in
                let isEnding = await timer.value?.cancelAndWait()
                events.append("inside: \(isEnding == true)")
            }
        )
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { events.all.count == 2 })
        #expect(events.all == ["inside: true", "end"])
        timer.value = nil
    }

    /// The handler may wait for the task, so the task cannot wait for the handler.
    @Test func cancelAndWaitInATaskOfTheHandlerReturnsWhileTheHandlerRuns() async throws {
        let (meter, events, timer) = (Meter(), Notes<String>(), Box<PreciseTimer>())
        timer.value = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            target: meter,
            onEnd: { _ in events.append("end") },
            handler: { _, _ in
                await Task { _ = await timer.value?.cancelAndWait() }.value
                events.append("the handler returns")
            }
        )
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { events.all.count == 2 })
        #expect(events.all == ["the handler returns", "end"])
        timer.value = nil
    }

    @Test func aTaskOfAnEarlierTickIsNotInsideALaterHandler() async throws {
        let (meter, gate, entered, waiter) = (Meter(), Gate(), Gate(), Box<Task<Bool, Never>>())
        let (timer, returned, waited) = (Box<PreciseTimer>(), Count(), Count())
        timer.value = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            target: meter,
            handler: { _, tick in
                if tick.index == 0 {
                    waiter.value = Task {
                        await entered.pass()
                        let isEnding = await timer.value?.cancelAndWait() == true
                        waited.add(returned.value)
                        return isEnding
                    }
                } else {
                    entered.open()
                    await gate.pass()
                    returned.add(1)
                }
            }
        )
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { virtual.service.nextWakeTime != nil }, "the first handler has returned")
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { timer.value?.state == .ended(.cancelled) })
        try await Task.sleep(for: .milliseconds(10))
        gate.open()
        #expect(await waiter.value?.value == true)
        #expect(waited.value == 1, "it waited for the second handler")
        timer.value = nil
    }

    @Test func twoWaitersBothWaitForTheHandlerItsReleaseAndOnEnd() async throws {
        let (meter, gate, entered, events) = (Meter(), Gate(), Gate(), Notes<String>())
        var captured: Thing? = Thing { events.append("released") }
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            target: meter,
            onEnd: { _ in events.append("end") },
            handler: { [captured] _, _ in
                entered.open()
                await gate.pass()
                events.append("returned")
                withExtendedLifetime(captured) {}
            }
        )
        captured = nil
        virtual.advanceWithoutSettling(by: .seconds(1))
        await entered.pass()
        async let first = timer.cancelAndWait()
        async let second = timer.cancelAndWait()
        try await Task.sleep(for: .milliseconds(10))
        #expect(events.all == [])
        gate.open()
        #expect(await [first, second].count { $0 } == 1, "exactly one call ended it")
        #expect(events.all == ["returned", "released", "end"])
    }

    private actor Meter {
        var isRunning = 0
        var overlaps = 0
    }
}
