#if ServiceLifecycle && Logging
import PreciseTimer
import PreciseTimerLifecycle
import PreciseTimerTestKit
import ServiceLifecycle
import ServiceLifecycleTestKit
import TestSupport
import Testing

/// How a periodic service is changed while it runs, and before and after that.
extension PeriodicServiceTests {
    @Test func anotherScheduleCountsFromNowAndNameAndCountsStay() async throws {
        let service = periodic { [self] in note($0) }
        try await serve(service) { _ in
            await advance(service, toRun: 1)
            await virtual.advance(by: .seconds(4))
            let error = #expect(throws: TimerError.self) { try service.reschedule(.every(.zero)) }
            #expect(error?.code == .invalidSchedule && "\(service)".hasSuffix("every 10 s"), "it stays as it was")
            try service.reschedule(.every(.seconds(3)))
            await advance(service, toRun: 3)
        }
        #expect(starts.all == [10, 17, 20])
        #expect("\(service)" == "periodic service \"job\", every 3 s")
        try await serve(service) { _ in await advance(service, toRun: 4) }
        #expect(starts.all == [10, 17, 20, 23], "it is also that of the next call")
    }

    static let factsOfAPause = ["keeping": "[0, 0, 1]"]

    @Test func aPausedServiceRunsNothingUntilItIsResumed() async throws {
        let service = periodic { [self] in note($0) }
        try await serve(service) { _ in
            await advance(service, toRun: 1)
            #expect([service.pause(), service.pause()] == [true, false])
            await virtual.advance(by: .seconds(100))
            #expect([service.resume(), service.resume()] == [true, false])
            await advance(service, toRun: 2)
            service.pause(keeping: .grid)
            await virtual.advance(by: .seconds(25))
            service.resume()
            await advance(service, toRun: 3)
            service.pause()
        }
        #expect(starts.all == [10, 120, 145])
        #expect(["keeping": "\(log.ticks.map(\.missed))"] == Self.factsOfAPause)
    }

    @Test func aRunThatIsAskedForComesNowAndMovesNoOther() async throws {
        let service = staying()
        try await serve(service) { _ in
            await enter()
            virtual.advanceWithoutSettling(by: .seconds(2))
            #expect([service.fire(), service.fire()] == [true, true])
            mayReturn.open()
            await advance(service, toRun: 3)
        }
        #expect(starts.all == [10, 12, 20] && log.ticks.map(\.isExtra) == [false, true, false])
    }

    @Test func aJobMayGiveItsServiceAnotherScheduleInItsLastRun() async throws {
        let box = Box<PeriodicService>()
        let service = periodic(.every(.seconds(10), count: 1)) { [self] tick in
            note(tick)
            if starts.all.count == 1 { try box.value?.reschedule(.every(.seconds(3), count: 2)) }
        }
        box.value = service
        let task = Task { try await service.run() }
        #expect(await soon { virtual.pendingCount == 1 })
        await advance(service, toRun: 3)
        try await task.value
        #expect(starts.all == [10, 13, 16])
        box.value = nil
    }

    // MARK: Before, at the start, and after

    @Test func aServiceThatDoesNotRunTakesAnotherScheduleForItsStart() async throws {
        let service = periodic { [self] in note($0) }
        try service.reschedule(.every(.seconds(3)))
        #expect([service.pause(), service.resume(), service.fire()] == [false, false, false])
        try await serve(service) { _ in await advance(service, toRun: 2) }
        #expect(starts.all == [3, 6])
        #expect([service.pause(), service.resume(), service.fire()] == [false, false, false])
        try service.reschedule(.every(.zero))
        let error = await #expect(throws: TimerError.self) { try await service.run() }
        #expect(error?.code == .invalidSchedule)
        try service.reschedule(.every(.seconds(5)))
        try await serve(service) { _ in await advance(service, toRun: 3) }
        #expect(starts.all == [3, 6, 11])
    }

    @Test(arguments: [false, true])
    func aScheduleThatIsSetInTheFirstRunAtTheStartBeginsAfterIt(isBad: Bool) async throws {
        let service = staying(firstRun: .atStart)
        let task = Task { try await service.run() }
        await isInside.pass()
        try service.reschedule(.every(.seconds(isBad ? 0 : 3)))
        #expect([service.pause(), service.resume(), service.fire()] == [false, false, false])
        virtual.advanceWithoutSettling(by: .seconds(7))
        mayReturn.open()
        if isBad {
            let error = await #expect(throws: TimerError.self) { try await task.value }
            #expect(error?.code == .invalidSchedule)
        } else {
            #expect(await soon { virtual.nextDeadline != nil }, "the schedule has begun")
            await advance(service, toRun: 3)
            task.cancel()
            try await task.value
        }
        #expect(starts.all == (isBad ? [0] : [0, 10, 13]) && virtual.pendingCount == 0)
    }
}
#endif
