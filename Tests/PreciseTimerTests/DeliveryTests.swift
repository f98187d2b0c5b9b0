import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// The places in which handlers run, one at a time, and the deadlines that pass while a place is busy.
@Suite(.waits("queues and actors call the handler when they like"), .timeLimit(.minutes(60))) struct DeliveryTests {
    private let virtual = VirtualTime()
    private let log = Log()

    @Test(arguments: DeliveryKind.allCases)
    func handlersRunInTheRequestedPlace(kind: DeliveryKind) async throws {
        let (place, here) = (Place(kind), Notes<Bool>())
        let timer = try place.schedule(.every(.seconds(1)), on: virtual.service, target: log) { _ in
            here.append(place.isHere)
        }
        for count in 1...3 {
            virtual.advanceWithoutSettling(by: .seconds(1))
            // Polled, because the previous handler may not have returned when time was moved.
            let hasCome = await soon {
                virtual.advance(by: .zero)
                return here.all.count == count
            }
            #expect(hasCome)
        }
        timer.cancel()
        #expect(here.all == [true, true, true])
    }

    @Test(arguments: DeliveryKind.allCases)
    func handlersOfOneTimerDoNotOverlapAndNothingIsLost(kind: DeliveryKind) async throws {
        let (place, log, running, overlaps) = (Place(kind), log, Count(), Count())
        let service = try TimerService(.usual)
        let start = service.now.advanced(by: .milliseconds(1))
        let timer = try place.schedule(.every(.microseconds(200), at: start), on: service, target: log) { tick in
            if running.add(1) > 1 { overlaps.add(1) }
            pause(.milliseconds(1))
            log.note(tick)
            running.add(-1)
        }
        #expect(await soon { log.count >= 40 })
        await timer.cancelAndWait()
        #expect(running.value == 0)
        #expect(overlaps.value == 0)
        #expect(log.ticks.flaw(from: start, every: .microseconds(200)) == nil)
        #expect(log.ticks.dropFirst().allSatisfy { $0.missed >= 4 }, "each handler takes five periods")
    }

    @Test(arguments: DeliveryKind.hops)
    func deadlinesThatPassWhileThePlaceIsBusyBecomeOneTick(kind: DeliveryKind) async throws {
        let (place, gate, log) = (Place(kind), Gate(), log)
        let start = virtual.now.advanced(by: .milliseconds(1))
        let timer = try place.schedule(.every(.milliseconds(1)), on: virtual.service, target: log) { log.note($0) }
        await place.block(until: gate)
        virtual.advanceWithoutSettling(by: .milliseconds(10))
        #expect(virtual.service.nextWakeTime == nil, "no deadline is awaited while a tick is on its way")
        gate.open()
        #expect(await soon { log.count == 1 })
        await place.settle()
        let tick = try #require(log.ticks.first)
        #expect(log.count == 1)
        #expect(tick.index == 0)
        #expect(tick.deadline == start)
        #expect(tick.missed == 9)
        #expect(tick.woke == start)
        #expect(tick.delivered == virtual.now)
        #expect(tick.hopLateness == .milliseconds(9))
        #expect(tick.wakeLateness == .zero)
        virtual.advanceWithoutSettling(by: .milliseconds(1))
        #expect(await soon { log.count == 2 })
        #expect(log.ticks.flaw(from: start, every: .milliseconds(1)) == nil)
        timer.cancel()
    }

    @Test(arguments: DeliveryKind.hops)
    func catchingUpAfterABusyPlaceStopsAtTheLimit(kind: DeliveryKind) async throws {
        let (place, gate, log) = (Place(kind), Gate(), log)
        let start = virtual.now.advanced(by: .milliseconds(1))
        let timer = try place.schedule(
            .every(.milliseconds(1)),
            on: virtual.service,
            missedTicks: .catchUp(limit: 3),
            target: log
        ) { log.note($0) }
        await place.block(until: gate)
        virtual.advanceWithoutSettling(by: .milliseconds(10))
        gate.open()
        #expect(await soon { log.count == 3 })
        await place.settle()
        #expect(log.ticks.map(\.missed) == [0, 0, 7])
        #expect(log.ticks.flaw(from: start, every: .milliseconds(1)) == nil)
        timer.cancel()
    }

    @Test(arguments: DeliveryKind.hops)
    func theDelayPolicyRestartsTheGridAfterABusyPlace(kind: DeliveryKind) async throws {
        let (place, gate, log) = (Place(kind), Gate(), log)
        let timer = try place.schedule(
            .every(.milliseconds(4)),
            on: virtual.service,
            missedTicks: .delay,
            target: log
        ) { log.note($0) }
        await place.block(until: gate)
        virtual.advanceWithoutSettling(by: .milliseconds(10))
        gate.open()
        #expect(await soon { log.count == 1 })
        await place.settle()
        #expect(log.ticks.first?.missed == 1)
        #expect(timer.nextDeadline == virtual.now.advanced(by: .milliseconds(4)))
        timer.cancel()
    }

    @Test(arguments: DeliveryKind.allCases)
    func aFixedDelayCountsFromTheHandlersReturn(kind: DeliveryKind) async throws {
        let (place, gate, log, entered) = (Place(kind), Gate(), log, Gate())
        let timer = try place.schedule(.fixedDelay(.milliseconds(5)), on: virtual.service, target: log) { tick in
            entered.open()
            if place.kind != .inline { gate.pass() }
            log.note(tick)
        }
        virtual.advanceWithoutSettling(by: .milliseconds(5))
        await entered.pass()
        if kind != .inline {
            #expect(timer.nextDeadline == nil, "it depends on the handler's return")
            virtual.advanceWithoutSettling(by: .milliseconds(20))
        }
        gate.open()
        #expect(await soon { log.count == 1 })
        await place.settle()
        #expect(timer.nextDeadline == virtual.now.advanced(by: .milliseconds(5)))
        timer.cancel()
    }
}
