import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Calls on a timer while its tick is on its way to a busy place.
@Suite(.waits("a queue or an actor is busy while a tick is on its way"), .timeLimit(.minutes(60))) struct HopTests {
    private let virtual = VirtualTime()
    private let log = Log()

    /// Makes a place busy, and a timer whose tick is on its way there.
    private func timerOnItsWay(
        to place: Place,
        past gate: Gate,
        _ schedule: PreciseTimer.Schedule = .every(.milliseconds(1)),
        capturing captured: Thing? = nil
    ) async throws -> PreciseTimer {
        let log = log
        let timer = try place.schedule(schedule, on: virtual.service, target: log) { [captured] tick in
            withExtendedLifetime(captured) { log.note(tick) }
        }
        await place.block(until: gate)
        virtual.advanceWithoutSettling(by: .milliseconds(1))
        // A hop to an actor is a task: let it come as far as it can.
        try await Task.sleep(for: .milliseconds(10))
        return timer
    }

    @Test(arguments: DeliveryKind.hops)
    func aTimerCancelledOnTheWayDoesNotTickAndReleasesAtOnce(kind: DeliveryKind) async throws {
        let (place, gate, released) = (Place(kind), Gate(), Count())
        let timer = try await timerOnItsWay(to: place, past: gate, capturing: Thing { released.add(1) })
        #expect(released.value == 0)
        #expect(timer.cancel())
        #expect(released.value == 1, "before the tick arrives")
        #expect(timer.cancelAndWaitBlocking() == false, "no handler runs that would have to be awaited")
        gate.open()
        await place.settle()
        #expect(log.count == 0)
        #expect(timer.state == .ended(.cancelled))
    }

    @Test(arguments: DeliveryKind.hops)
    func aServiceShutDownMeanwhileDeliversNoTick(kind: DeliveryKind) async throws {
        let (place, gate, released) = (Place(kind), Gate(), Count())
        let timer = try await timerOnItsWay(to: place, past: gate, capturing: Thing { released.add(1) })
        virtual.service.shutdown()
        #expect(released.value == 1)
        gate.open()
        await place.settle()
        #expect(log.count == 0)
        #expect(timer.state == .ended(.serviceShutDown))
    }

    @Test(arguments: DeliveryKind.hops)
    func aTimerPausedOnTheWayTicksOnceWhenResumed(kind: DeliveryKind) async throws {
        let (place, gate) = (Place(kind), Gate())
        let start = virtual.now.advanced(by: .milliseconds(1))
        let timer = try await timerOnItsWay(to: place, past: gate)
        #expect(timer.pause(keeping: .grid))
        gate.open()
        await place.settle()
        virtual.advanceWithoutSettling(by: .milliseconds(5))
        await place.settle()
        #expect(log.count == 0)
        #expect(timer.resume())
        virtual.advanceWithoutSettling(by: .zero)
        #expect(await soon { log.count == 1 })
        await place.settle()
        #expect(log.ticks.map(\.missed) == [5])
        #expect(log.ticks.flaw(from: start, every: .milliseconds(1)) == nil)
        timer.cancel()
    }

    @Test(arguments: DeliveryKind.hops)
    func aTimerPausedAndResumedOnTheWayTicksOnce(kind: DeliveryKind) async throws {
        let (place, gate) = (Place(kind), Gate())
        let timer = try await timerOnItsWay(to: place, past: gate)
        timer.pause(keeping: .grid)
        virtual.advanceWithoutSettling(by: .milliseconds(3))
        timer.resume()
        virtual.advanceWithoutSettling(by: .zero)
        #expect(virtual.service.nextWakeTime == nil, "a tick is on its way already")
        gate.open()
        #expect(await soon { log.count == 1 })
        await place.settle()
        #expect(log.ticks.map(\.missed) == [3])
        timer.cancel()
    }

    @Test(arguments: DeliveryKind.hops)
    func aTimerRescheduledOnTheWayTicksForTheNewScheduleOnly(kind: DeliveryKind) async throws {
        let (place, gate) = (Place(kind), Gate())
        let timer = try await timerOnItsWay(to: place, past: gate)
        let start = virtual.now.advanced(by: .milliseconds(7))
        try timer.reschedule(.every(.milliseconds(2), after: .milliseconds(7)))
        gate.open()
        await place.settle()
        #expect(log.count == 0)
        virtual.advanceWithoutSettling(by: .milliseconds(7))
        #expect(await soon { log.count == 1 })
        await place.settle()
        virtual.advanceWithoutSettling(by: .milliseconds(2))
        #expect(await soon { log.count == 2 })
        #expect(log.ticks.flaw(from: start, every: .milliseconds(2)) == nil)
        timer.cancel()
    }

    @Test(arguments: DeliveryKind.hops)
    func theOnlyTickOfATimerRescheduledOnTheWayIsNotItsLast(kind: DeliveryKind) async throws {
        let (place, gate) = (Place(kind), Gate())
        let timer = try await timerOnItsWay(to: place, past: gate, .once(after: .milliseconds(1)))
        // The new deadline has passed, too, when the old tick arrives.
        try timer.reschedule(.once(after: .milliseconds(1)))
        let due = virtual.now.advanced(by: .milliseconds(1))
        virtual.advanceWithoutSettling(by: .milliseconds(3))
        gate.open()
        await place.settle()
        virtual.advanceWithoutSettling(by: .zero)
        #expect(await soon { timer.state == .ended(.completed) })
        #expect(log.ticks.map(\.deadline) == [due])
    }

    @Test(arguments: DeliveryKind.hops)
    func aTimerFiredOnTheWayGetsBothTicks(kind: DeliveryKind) async throws {
        let (place, gate) = (Place(kind), Gate())
        let start = virtual.now.advanced(by: .seconds(1))
        let timer = try await timerOnItsWay(to: place, past: gate, .every(.seconds(1), after: .milliseconds(1)))
        timer.fire()
        gate.open()
        #expect(await soon { log.count == 1 })
        await place.settle()
        virtual.advanceWithoutSettling(by: .zero)
        #expect(await soon { log.count == 2 })
        await place.settle()
        #expect(log.ticks.map(\.index) == [0, 1], "the extra tick has the index of the next deadline")
        #expect(log.ticks.map(\.missed) == [0, 0])
        #expect(timer.nextDeadline == start.advanced(by: .milliseconds(1)))
        timer.cancel()
    }

    @Test(arguments: [DeliveryKind.serialQueue, .concurrentQueue, .mainActor])
    func aTargetReleasedOnTheWayIsNotCalledAndEndsTheTimer(kind: DeliveryKind) async throws {
        let (place, gate, log, reasons) = (Place(kind), Gate(), log, Notes<PreciseTimer.EndReason>())
        var target: Thing? = Thing()
        let timer = try place.schedule(
            .every(.milliseconds(1)),
            on: virtual.service,
            target: try #require(target),
            onEnd: { reasons.append($0) },
            handler: { log.note($0) }
        )
        await place.block(until: gate)
        virtual.advanceWithoutSettling(by: .milliseconds(1))
        target = nil
        gate.open()
        await place.settle()
        #expect(reasons.all == [.targetReleased], "the tick notices the released target")
        #expect(log.count == 0)
        #expect(timer.state == .ended(.targetReleased))
    }
}

extension PreciseTimer {
    /// The blocking form: inside an async function, the compiler would choose the other one.
    fileprivate func cancelAndWaitBlocking() -> Bool { cancelAndWait() }
}
