import Dispatch
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Code that delivers elsewhere, tested on virtual time.
@Suite(.timeLimit(.minutes(60))) struct SettleTests {
    @MainActor private final class ViewModel {
        var refreshes = 0
        func refresh() { refreshes += 1 }
    }

    private actor Meter {
        var readings = 0
        func read() { readings += 1 }
    }

    private let virtual = VirtualTime()

    @Test @MainActor func aViewModelIsRefreshed() async throws {
        let model = ViewModel()
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: model) { @MainActor model, _ in
            model.refresh()
        }
        for count in 1...20 {
            virtual.advanceWithoutSettling(by: .seconds(1))
            #expect(model.refreshes == count - 1)
            #expect(await virtual.settle())
            #expect(model.refreshes == count)
        }
    }

    @Test func anActorReceivesItsTicks() async throws {
        let meter = Meter()
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: meter) { meter, _ in meter.read() }
        for count in 1...20 {
            virtual.advanceWithoutSettling(by: .seconds(1))
            #expect(await virtual.settle())
            #expect(await meter.readings == count)
        }
    }

    @Test func aQueueReceivesItsTicks() async throws {
        let (queue, log) = (DispatchQueue(label: "test.settle"), Log())
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, deliver: .queue(queue), target: log) {
            pause(.milliseconds(5))
            $0.note($1)
        }
        for count in 1...10 {
            virtual.advanceWithoutSettling(by: .seconds(1))
            #expect(await virtual.settle())
            #expect(log.count == count)
        }
    }

    @Test func theHandlerOfATimerThatHasEndedIsAwaited() async throws {
        let (queue, meter) = (DispatchQueue(label: "test.settle"), Meter())
        for _ in 0..<5 {
            let log = Log()
            try PreciseTimer.schedule(
                .every(.seconds(1), count: 1),
                on: virtual.service,
                deliver: .queue(queue),
                target: log
            ) {
                pause(.milliseconds(20))
                $0.note($1)
            }
            let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, deliver: .queue(queue)) {
                timer,
                tick in
                timer.cancel()
                pause(.milliseconds(20))
                log.note(tick)
            }
            virtual.advanceWithoutSettling(by: .seconds(1))
            #expect(await virtual.settle())
            #expect(log.count == 2 && timer.state == .ended(.cancelled))
        }
        try PreciseTimer.schedule(.once(after: .zero), on: virtual.service, target: meter) { [virtual] meter, _ in
            virtual.service.shutdown()
            try? await Task.sleep(for: .milliseconds(20))
            meter.read()
        }
        virtual.advanceWithoutSettling(by: .zero)
        #expect(await virtual.settle())
        #expect(await meter.readings == 1)
    }

    @Test func aLoopOverTicksRunsItsBody() async throws {
        let (virtual, log) = (virtual, Log())
        let consumer = Task {
            for try await tick in PreciseTimer.ticks(.every(.seconds(1)), on: virtual.service) {
                await Task.yield()
                log.note(tick)
            }
        }
        while virtual.pendingCount == 0 { await virtual.settle() }
        for count in 1...20 {
            virtual.advanceWithoutSettling(by: .seconds(1))
            #expect(await virtual.settle())
            #expect(log.count == count)
        }
        consumer.cancel()
        _ = await consumer.result
        #expect(virtual.pendingCount == 0)
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
            for _ in 0..<2 * Platform.processors {
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
        #expect(virtual.service.activity.tasks == 1)
        #expect(virtual.service.activity.hops == 0)
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

    @Test func aSleepOnTheServicesClockEnds() async throws {
        let (virtual, log) = (virtual, Notes<Int>())
        let task = Task {
            for number in 0..<5 {
                try await virtual.service.clock.sleep(for: .seconds(1))
                log.append(number)
            }
        }
        for count in 1...5 {
            while virtual.pendingCount == 0 { await virtual.settle() }
            virtual.advanceWithoutSettling(by: .seconds(1))
            while log.all.count < count { await virtual.settle() }
            #expect(log.all.count == count)
        }
        try await task.value
    }

    /// The handler awaits the next advance, so that no settling can bring it to its end.
    @Test func aHandlerThatAwaitsTheNextAdvanceDoesNotHoldItUp() async throws {
        let (virtual, meter) = (virtual, Meter())
        let begun = Count()
        try PreciseTimer.schedule(.once(after: .seconds(1)), on: virtual.service, target: meter) { meter, _ in
            begun.add(1)
            try? await virtual.service.clock.sleep(for: .seconds(5))
            meter.read()
        }
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await virtual.settle())
        #expect(begun.value == 1)
        while virtual.pendingCount < 2 { await virtual.settle() }
        virtual.advanceWithoutSettling(by: .seconds(5))
        while await meter.readings == 0 { await virtual.settle() }
    }

    @Test func aTickThatCannotArriveIsReported() async throws {
        let (queue, log) = (DispatchQueue(label: "test.suspended"), Log())
        queue.suspend()
        try PreciseTimer.schedule(.once(after: .seconds(1)), on: virtual.service, deliver: .queue(queue), target: log) {
            $0.note($1)
        }
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await !virtual.settle(atMost: .milliseconds(50)))
        queue.resume()
        #expect(await virtual.settle())
        #expect(log.count == 1)
    }

    @Test func aCancelledTaskDoesNotWait() async throws {
        let (virtual, queue, log) = (virtual, DispatchQueue(label: "test.suspended"), Log())
        queue.suspend()
        try PreciseTimer.schedule(.once(after: .seconds(1)), on: virtual.service, deliver: .queue(queue), target: log) {
            $0.note($1)
        }
        virtual.advanceWithoutSettling(by: .seconds(1))
        let task = Task { await virtual.settle() }
        task.cancel()
        #expect(await !task.value)
        queue.resume()
    }

    @Test func theStreamsOfStepsEndWithAShutdownOfVirtualTime() async throws {
        let virtual = VirtualTime(clock: .wall)
        let steps = try virtual.service.clockSteps
        let before = Task { try await steps.reduce(into: 0) { count, _ in count += 1 } }
        virtual.inject(.stepClock(by: .seconds(60)), after: .seconds(1))
        virtual.advanceWithoutSettling(by: .seconds(2))
        virtual.service.shutdown()
        #expect(try await before.value == 1)
        let later = try await virtual.service.clockSteps.reduce(into: 0) { count, _ in count += 1 }
        #expect(later == 0)
    }

    /// A process of its own, because other tests watch the machine's clock.
    @Test func noThreadWatchesTheMachinesClockForVirtualTime() async {
        await #expect(processExitsWith: .success) {
            let virtual = VirtualTime(clock: .wall)
            let steps = try virtual.service.clockSteps
            let count = Task { try await steps.reduce(into: 0) { count, _ in count += 1 } }
            virtual.inject(.stepClock(by: .seconds(60)), after: .seconds(1))
            virtual.advanceWithoutSettling(by: .seconds(2))
            #expect(ProcFS.threads(named: "timer.clock") == [])
            virtual.service.shutdown()
            #expect(try await count.value == 1)
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
