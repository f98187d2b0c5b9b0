import Dispatch
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Code that delivers elsewhere, tested on virtual time.
@Suite(.timeLimit(.minutes(60))) struct SettleTests {
    private actor Meter {
        var readings = 0
        func read() { readings += 1 }
    }

    private let virtual = VirtualTime()

    /// In most attempts: a handler in a task whose thread the machine holds up for a second looks like one that awaits
    /// something.
    @Test(arguments: DeliveryKind.hops) func eachTickArrivesAndNoneBefore(kind: DeliveryKind) async throws {
        let areInTime = try await mostSucceed {
            let (virtual, place, log) = (VirtualTime(), Place(kind), Log())
            let timer = try place.schedule(.every(.seconds(1)), on: virtual.service, target: log) {
                pause(.milliseconds(2))
                log.note($0)
            }
            var counts: [Int] = []
            for _ in 1...20 {
                virtual.advanceWithoutSettling(by: .seconds(1))
                counts.append(await virtual.settle() ? log.count : -1)
            }
            return withExtendedLifetime(timer) { counts == Array(1...20) }
        }
        #expect(areInTime)
    }

    /// The tick is on its way to the actor on which the caller runs.
    @Test @MainActor func withoutSettlingNothingArrivesOnTheMainActor() async throws {
        let (place, log) = (Place(.mainActor), Log())
        let timer = try place.schedule(.every(.seconds(1)), on: virtual.service, target: log) { log.note($0) }
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(log.count == 0)
        await virtual.settle()
        #expect(log.count == 1)
        withExtendedLifetime(timer) {}
    }

    @Test func theHandlerOfATimerThatHasEndedIsAwaited() async throws {
        let (service, queue, meter) = (virtual.service, DispatchQueue(label: "test.settle"), Meter())
        let (once, delivery) = (PreciseTimer.Schedule.every(.seconds(1), count: 1), PreciseTimer.Delivery.queue(queue))
        let log = Log()
        try PreciseTimer.schedule(once, on: service, deliver: delivery, target: log) {
            pause(.milliseconds(20))
            $0.note($1)
        }
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: service, deliver: delivery) { timer, tick in
            timer.cancel()
            pause(.milliseconds(20))
            log.note(tick)
        }
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await virtual.settle())
        #expect(log.count == 2 && timer.state == .ended(.cancelled))
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: meter) { meter, _ in
            service.shutdown()
            try? await Task.sleep(for: .milliseconds(20))
            meter.read()
        }
        virtual.advanceWithoutSettling(by: .zero)
        #expect(await virtual.settle())
        #expect(await meter.readings == 1)
    }

    /// Each time that the loop's task and the settling one give their thread away, they wait for tasks that block it.
    @Test func aLoopWhoseTaskHardlyGetsAThreadRunsItsBody() async {
        await #expect(processExitsWith: .success) {
            let (virtual, log) = (VirtualTime(), Log())
            let consumer = Task {
                for try await tick in PreciseTimer.ticks(.every(.seconds(1)), on: virtual.service) {
                    for _ in 0..<20 { await Task.yield() }
                    log.note(tick)
                }
            }
            while virtual.pendingCount == 0 { await virtual.settle() }
            for _ in 0..<2 * ProcFS.processors.count {
                Task {
                    while log.count == 0 {
                        pause(.milliseconds(60))
                        await Task.yield()
                    }
                }
            }
            virtual.advanceWithoutSettling(by: .seconds(1))
            await virtual.settle()
            #expect(log.count == 1)
            consumer.cancel()
        }
    }

    /// Settling waits for it. The test looks at what settling looks at, because the machine may hold up any task for as
    /// long as settling waits.
    @Test func theBodyOfALoopOverTicksCountsUntilItAsksForTheNextTick() async throws {
        let (virtual, isInside, mayGoOn) = (virtual, Gate(), Gate())
        let consumer = Task {
            for try await _ in PreciseTimer.ticks(.every(.seconds(1)), on: virtual.service) {
                isInside.open()
                await mayGoOn.pass()
            }
        }
        #expect(await soon { virtual.pendingCount == 1 && virtual.service.activity.tasks == 0 }, "it waits for a tick")
        virtual.advanceWithoutSettling(by: .seconds(1))
        await isInside.pass()
        #expect([virtual.service.activity.tasks, virtual.service.activity.hops] == [1, 0])
        mayGoOn.open()
        #expect(await soon { virtual.service.activity.tasks == 0 })
        consumer.cancel()
        _ = await consumer.result
    }

    /// Such tasks are not known to the service, so a quiet service must be watched for twelve sleeps of 200 µs.
    @Test func tasksThatHaveJustBeenCreatedAreGivenSomeMilliseconds() async {
        var shortest = Duration.seconds(1)
        for _ in 0..<20 {
            let time = await ContinuousClock().measure { _ = await virtual.settle() }
            shortest = min(shortest, time)
        }
        #expect(shortest >= .milliseconds(2))
    }

    @Test func aCancelledTaskDoesNotWait() async throws {
        let (virtual, stuck, log) = (virtual, SuspendedQueue(), Log())
        let delivery = PreciseTimer.Delivery.queue(stuck.queue)
        try PreciseTimer.schedule(.once(after: .zero), on: virtual.service, deliver: delivery, target: log) {
            $0.note($1)
        }
        virtual.advanceWithoutSettling(by: .zero)
        let task = Task { await virtual.settle() }
        task.cancel()
        #expect(await !task.value)
        stuck.letRun()
    }

    /// A process of its own, because other tests watch the machine's clock.
    @Test func noThreadWatchesTheMachinesClockForVirtualTimeWhoseEndEndsTheStreams() async {
        await #expect(processExitsWith: .success) {
            let virtual = VirtualTime(clock: .wall)
            let steps = try virtual.service.clockSteps
            let before = Task { try await steps.reduce(into: 0) { count, _ in count += 1 } }
            virtual.inject(.stepClock(by: .seconds(60)), after: .seconds(1))
            virtual.advanceWithoutSettling(by: .seconds(2))
            #expect(ProcFS.threads(named: "timer.clock") == [])
            virtual.service.shutdown()
            let after = try await virtual.service.clockSteps.reduce(into: 0) { count, _ in count += 1 }
            #expect([try await before.value, after] == [1, 0])
        }
    }

    @Test func stepsOfAVirtualWallClockAreTold() async throws {
        let virtual = VirtualTime(clock: .wall)
        let (steps, told) = (try virtual.service.clockSteps, Notes<TimerService.ClockStep>())
        let task = Task { for try await step in steps { told.append(step) } }
        virtual.inject(.stepClock(by: .seconds(3_600)), after: .seconds(1))
        virtual.inject(.stepClock(by: .seconds(-60)), after: .seconds(2))
        virtual.advanceWithoutSettling(by: .seconds(5))
        while told.all.count < 2 { await virtual.settle() }
        #expect(told.all.map(\.change) == [.seconds(3_600), .seconds(-60)])
        let start = VirtualTime(clock: .wall).now
        #expect(told.all.map { start.duration(to: $0.at) } == [.seconds(3_601), .seconds(3_542)])
        task.cancel()
        _ = await task.result
    }
}
