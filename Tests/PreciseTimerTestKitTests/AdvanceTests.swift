import Dispatch
import PreciseTimer
import PreciseTimerPatterns
import PreciseTimerTestKit
import TestSupport
import Testing

/// `await virtual.advance(by:)`: each tick arrives before time goes on.
///
/// A task that the service does not know, and whose thread stands still for some milliseconds, looks like one that has
/// ended, and a handler whose thread stands still for a tenth of a second like one that awaits a later deadline: see
/// ``VirtualTime/settle()``. So tests with them make several attempts.
@Suite(.timeLimit(.minutes(60))) struct AdvanceTests {
    @MainActor private final class ViewModel {
        var missed: [Int] = []
    }

    private actor Meter {
        var readings = 0
        func read() { readings += 1 }
    }

    private let virtual = VirtualTime()

    @Test @MainActor func eachTickReachesTheMainActor() async throws {
        let isInTime = try await mostSucceed {
            let (virtual, model) = (VirtualTime(), ViewModel())
            try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: model) {
                @MainActor model, tick in
                model.missed.append(tick.missed)
            }
            let isSettled = await virtual.advance(by: .seconds(5))
            return isSettled && model.missed == [0, 0, 0, 0, 0]
        }
        #expect(isInTime)
    }

    @Test func eachTickReachesItsActorAndItsQueue() async throws {
        let isInTime = try await mostSucceed {
            let (virtual, meter, queue) = (VirtualTime(), Meter(), DispatchQueue(label: "test.advance"))
            let log = TickLog(virtual)
            try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: meter) { meter, _ in
                meter.read()
            }
            try PreciseTimer.schedule(.every(.seconds(2)), on: virtual.service, deliver: .queue(queue), target: log) {
                $0.note($1)
            }
            await virtual.advance(by: .seconds(6))
            return await meter.readings == 6 && log.missed == [0, 0, 0]
                && log.deadlines == [.seconds(2), .seconds(4), .seconds(6)]
        }
        #expect(isInTime)
    }

    @Test func aTaskThatWasJustCreatedGetsEachTick() async throws {
        let isInTime = try await mostSucceed {
            let virtual = VirtualTime()
            let log = TickLog(virtual)
            let consumer = Task {
                for try await tick in PreciseTimer.ticks(.every(.seconds(1), count: 4), on: virtual.service) {
                    log.note(tick)
                }
            }
            await virtual.advance(by: .seconds(4))
            consumer.cancel()
            try await consumer.value
            return log.missed == [0, 0, 0, 0]
                && log.deadlines == [.seconds(1), .seconds(2), .seconds(3), .seconds(4)]
        }
        #expect(isInTime)
    }

    @Test func pausesOnTheServicesClockFollowEachOther() async throws {
        let isInTime = await mostSucceed {
            let virtual = VirtualTime()
            let (start, attempts) = (virtual.now, Notes<Duration>())
            let retry = Task {
                for pause in [1, 2, 4] {
                    attempts.append(start.duration(to: virtual.now))
                    try await Task.sleep(for: .seconds(pause), clock: virtual.service.clock)
                }
            }
            await virtual.advance(by: .seconds(60))
            retry.cancel()
            _ = await retry.result
            return attempts.all == [.zero, .seconds(1), .seconds(3)]
        }
        #expect(isInTime)
    }

    @Test func anOperationIsCancelledAtItsTimeOut() async throws {
        let isInTime = await mostSucceed {
            let virtual = VirtualTime()
            let (start, ends) = (virtual.now, Notes<Duration>())
            let asking = Task {
                for _ in 0..<2 {
                    _ = try? await withTimeout(.seconds(2), on: virtual.service) {
                        try await Task.sleep(for: .seconds(3_600))
                    }
                    ends.append(start.duration(to: virtual.now))
                }
            }
            await virtual.advance(by: .seconds(60))
            asking.cancel()
            await asking.value
            return ends.all == [.seconds(2), .seconds(4)]
        }
        #expect(isInTime)
    }

    @Test func aStepOfTheClockIsToldBeforeTimeGoesOn() async throws {
        let isInTime = try await mostSucceed {
            let virtual = VirtualTime(clock: .wall)
            let (start, steps, told) = (virtual.now, try virtual.service.clockSteps, Notes<Duration>())
            let listener = Task { for try await _ in steps { told.append(start.duration(to: virtual.now)) } }
            virtual.inject(.stepClock(by: .seconds(100)), after: .seconds(1))
            await virtual.advance(by: .seconds(5))
            listener.cancel()
            _ = await listener.result
            return told.all == [.seconds(101)]
        }
        #expect(isInTime)
    }

    /// A settling at each deadline would take minutes.
    @Test func inlineTicksOfRepeatingTimersAreNotWaitedFor() async throws {
        let log = Log()
        try PreciseTimer.schedule(.every(.milliseconds(1)), on: virtual.service, target: log) { $0.note($1) }
        try PreciseTimer.schedule(.fixedDelay(.seconds(1)), on: virtual.service, target: log) { $0.note($1) }
        #expect(virtual.service.pendingWork(by: virtual.now.advanced(by: .seconds(1))) == .none)
        await virtual.advance(by: .seconds(60))
        #expect(log.count == 60_000 + 60)
    }

    @Test func aTaskThatAnInlineHandlerCreatesRunsOnArrival() async throws {
        let isInTime = try await mostSucceed {
            let virtual = VirtualTime()
            let (log, meter) = (Log(), Meter())
            try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { _, _ in
                Task { await meter.read() }
            }
            await virtual.advance(by: .seconds(3))
            return await meter.readings == 3
        }
        #expect(isInTime)
    }

    @Test func theSequelIsThatOfDueTimers() throws {
        let (virtual, meter, log) = (virtual, Meter(), Log())
        let work = { (seconds: Int64) in virtual.service.pendingWork(by: virtual.now.advanced(by: .seconds(seconds))) }
        let once = try PreciseTimer.schedule(.once(after: .seconds(3)), on: virtual.service) { _, _ in }
        let rests = try PreciseTimer.schedule(.onDemand, on: virtual.service) { _, _ in }
        for count in 1...9 {
            let period = Duration.milliseconds(10 * count)
            try PreciseTimer.schedule(.every(period), on: virtual.service, target: log) { $0.note($1) }
        }
        #expect([work(2), work(3)] == [.none, .task])
        try once.reschedule(.once(after: .seconds(8)))
        #expect(work(7) == .none)
        try rests.reschedule(.once(after: .seconds(6)))
        #expect([work(5), work(6)] == [.none, .task])
        let tolerance = Duration.milliseconds(100)
        try PreciseTimer.schedule(.every(.seconds(4)), on: virtual.service, tolerance: tolerance, target: meter) {
            meter,
            _ in meter.read()
        }
        #expect([work(3), work(5), work(6)] == [.none, .handler, .task])
    }

    /// The queue of one timer is suspended. Without its rule, each tick of the other one would wait for it.
    @Test func aTickThatCannotArriveIsWaitedForOnce() async throws {
        let (queue, log, meter) = (DispatchQueue(label: "test.suspended"), Log(), Meter())
        queue.suspend()
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, deliver: .queue(queue), target: log) {
            $0.note($1)
        }
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: meter) { meter, _ in meter.read() }
        let hasArrived = await virtual.advance(by: .seconds(50), patience: .seconds(1))
        #expect(!hasArrived)
        #expect(await meter.readings == 50)
        var stuck = Activity()
        let isSettled = await virtual.settle(atMost: .milliseconds(100), beside: &stuck)
        #expect(!isSettled && stuck.hops == 1)
        // With a patience of hours, this ends only if it does not wait for the stuck tick again.
        let isSettledAgain = await virtual.settle(atMost: .seconds(36_000), beside: &stuck)
        #expect(!isSettledAgain)
        queue.resume()
        #expect(await virtual.settle())
        #expect(log.ticks.map(\.missed) == [49])
    }

    /// The handler awaits a later deadline of the same advance.
    @Test func aHandlerMaySleepOnTheServicesClock() async throws {
        let isInTime = try await mostSucceed {
            let (virtual, meter) = (VirtualTime(), Meter())
            try PreciseTimer.schedule(.every(.seconds(10)), on: virtual.service, target: meter) { meter, _ in
                try? await virtual.service.clock.sleep(for: .seconds(5))
                meter.read()
            }
            let isSettled = await virtual.advance(by: .seconds(57))
            return await meter.readings == 5 && isSettled
        }
        #expect(isInTime)
    }

    /// The handler traps on another actor.
    @Test func inlineTicksComeInTheCallersIsolation() async {
        await #expect(processExitsWith: .success) { try await AdvanceTests.advanceOnTheMainActor() }
    }

    @MainActor private static func advanceOnTheMainActor() async throws {
        let (virtual, log) = (VirtualTime(), Log())
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { log, tick in
            MainActor.assertIsolated()
            log.note(tick)
        }
        await virtual.advance(by: .seconds(3))
        precondition(log.count == 3)
    }

    @Test func withoutSettlingTheTicksOfATimerAreMerged() async throws {
        let (queue, log) = (DispatchQueue(label: "test.suspended"), TickLog(virtual))
        queue.suspend()
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, deliver: .queue(queue), target: log) {
            $0.note($1)
        }
        virtual.advanceWithoutSettling(by: .seconds(3))
        queue.resume()
        await virtual.settle()
        #expect(log.deadlines == [.seconds(1)])
        #expect(log.missed == [2])
    }
}
