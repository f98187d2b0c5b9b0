import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// A timer on demand, with every delivery.
@Suite(.waits("queues and actors call the handler when they like"), .timeLimit(.minutes(60)))
struct OnDemandDeliveryTests {
    private let virtual = VirtualTime()
    private let log = Log()

    @Test func anIterationOnDemandNeverTicksAndEndsWithItsTask() async throws {
        let service = virtual.service
        let consumer = Task {
            var count = 0
            for try await _ in PreciseTimer.ticks(.onDemand, on: service) { count += 1 }
            return count
        }
        #expect(await soon { service.pendingCount == 1 })
        virtual.advanceWithoutSettling(by: .seconds(86_400))
        #expect(service.pendingCount == 1)
        consumer.cancel()
        #expect(await soon { service.pendingCount == 0 })
        #expect(try await consumer.value == 0)
    }

    @Test(arguments: DeliveryKind.allCases)
    func eachRescheduleGivesOneTickWithEveryDelivery(kind: DeliveryKind) async throws {
        let (place, log) = (Place(kind), log)
        let timer = try place.schedule(.onDemand, on: virtual.service, target: log) { log.note($0) }
        for round in 1...3 {
            try timer.reschedule(.once(after: .seconds(1)))
            virtual.advanceWithoutSettling(by: .seconds(1))
            #expect(await soon { log.count == round })
            await place.settle()
            virtual.advanceWithoutSettling(by: .seconds(10))
            #expect(log.count == round)
            #expect(timer.state == .scheduled)
        }
        #expect(log.ticks.allSatisfy { $0.index == 0 })
    }

    @Test(arguments: DeliveryKind.hops)
    func aRescheduleWhileTheTickIsOnItsWayReplacesThatTick(kind: DeliveryKind) async throws {
        let (place, gate, log, start) = (Place(kind), Gate(), log, virtual.now)
        let timer = try place.schedule(.onDemand, on: virtual.service, target: log) { log.note($0) }
        try timer.reschedule(.once(after: .seconds(1)))
        await place.block(until: gate)
        virtual.advanceWithoutSettling(by: .seconds(1))
        try timer.reschedule(.once(after: .seconds(2)))
        gate.open()
        await place.settle()
        #expect(await soon { virtual.service.nextWakeTime == start.advanced(by: .seconds(3)) })
        #expect(log.count == 0)
        virtual.advanceWithoutSettling(by: .seconds(2))
        #expect(await soon { log.count == 1 })
        await place.settle()
        #expect(log.ticks.map(\.deadline) == [start.advanced(by: .seconds(3))])
        #expect(timer.state == .scheduled)
    }
}
