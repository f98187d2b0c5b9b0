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

    /// A number of rounds or, if a handler awaits something, a length of silence. The rounds sleep for 200 µs.
    @Test(arguments: [(200, Duration.seconds(60), false), (12, .milliseconds(200), true)])
    func eachChangeBeginsTheWaitAnew(rounds: Int, silence: Duration, anotherAwaits: Bool) async throws {
        let wait = anotherAwaits ? silence : .microseconds(200) * rounds
        var waits: [Duration] = []
        for _ in 0..<10 where waits.count < 3 {
            let (virtual, mayEnd, end) = (VirtualTime(), Gate(), Box<ContinuousClock.Instant>())
            let meters = [Meter(), Meter()]
            try PreciseTimer.schedule(.once(after: .zero), on: virtual.service, target: meters[0]) { _, _ in
                try? await Task.sleep(for: .milliseconds(120))
                end.value = .now
            }
            try PreciseTimer.schedule(.once(after: .zero), on: virtual.service, target: meters[1]) { _, _ in
                if anotherAwaits { await mayEnd.pass() }
            }
            virtual.advanceWithoutSettling(by: .zero)
            var stuck = Activity()
            _ = await virtual.settle(atMost: .seconds(600), rounds: rounds, silence: silence, beside: &stuck)
            // A handler whose thread the machine holds up ends after the silence.
            if let end = end.value { waits.append(end.duration(to: .now)) }
            mayEnd.open()
        }
        #expect(try #require(waits.min()) >= wait)
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
}
