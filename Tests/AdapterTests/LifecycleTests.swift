#if ServiceLifecycle
import Dispatch
import Logging
import PreciseTimer
import PreciseTimerLifecycle
import ServiceLifecycle
import ServiceLifecycleTestKit
import TestSupport
import Testing

@Suite(.waits("a shutdown by a signal, while timers tick"), .timeLimit(.minutes(60))) struct LifecycleTests {
    @Test func aShutdownIsDumpedWithItsTimers() async {
        await #expect(processExitsWith: .success) {
            let (service, bag) = (try TimerService(.usual), TimerBag())
            #expect(reflect(try TimerShutdown(of: service)).contains("\(service) #0\n"))
            #expect(reflect(TimerShutdown(of: bag)).contains("bag of 0 timers #0\n"))
        }
    }

    @Test func aServiceEndsWithTheProgramAndWaitsForItsHandlers() async throws {
        let service = try TimerService(.usual)
        let (isInside, mayReturn, hasReturned) = (Gate(), Gate(), Notes<Bool>())
        let endings = Notes<PreciseTimer.EndReason>()
        let target = Log()
        try PreciseTimer.schedule(
            .every(.milliseconds(1)),
            on: service,
            deliver: .queue(DispatchQueue(label: "test.lifecycle")),
            target: target,
            onEnd: endings.append
        ) { _, _ in
            isInside.open()
            mayReturn.pass()
            hasReturned.append(true)
        }
        let shutdown = try TimerShutdown(of: service)
        try await testGracefulShutdown { trigger in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await shutdown.run()
                    #expect(hasReturned.all == [true])
                }
                await isInside.pass()
                trigger.triggerGracefulShutdown()
                #expect(await soon { service.activeTimers.isEmpty })
                mayReturn.open()
                try await group.waitForAll()
            }
        }
        #expect(endings.all == [.serviceShutDown])
    }

    @Test func aGroupEndsTheTimersOfABagAndLeavesTheOthers() async throws {
        let service = try TimerService(.usual)
        let (bag, log, other) = (TimerBag(), Log(), Log())
        let timer = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { $0.note($1) }
        timer.store(in: bag)
        let remaining = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: other) { $0.note($1) }
        let group = ServiceGroup(services: [TimerShutdown(of: bag)], logger: Logger(label: "test"))
        async let running: Void = group.run()
        #expect(await soon { log.count > 2 })
        await group.triggerGracefulShutdown()
        try await running
        #expect(timer.state == .ended(.cancelled))
        #expect(remaining.state == .scheduled)
        service.shutdown()
    }

    @Test func theEndOfABagWaitsForItsHandlers() async throws {
        let (service, bag, target) = (try TimerService(.usual), TimerBag(), Log())
        let (isInside, mayReturn, isOver) = (Gate(), Gate(), Gate())
        let queue = DispatchQueue(label: "test.lifecycle")
        try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, deliver: .queue(queue), target: target) {
            _,
            _ in
            isInside.open()
            mayReturn.pass()
        }
        .store(in: bag)
        await isInside.pass()
        let task = Task {
            try await TimerShutdown(of: bag).run()
            isOver.open()
        }
        task.cancel()
        #expect(await soon { service.activeTimers.isEmpty })
        // Long enough for a call that does not wait.
        try await Task.sleep(for: .milliseconds(20))
        #expect(!isOver.isPassable)
        mayReturn.open()
        try await task.value
        service.shutdown()
    }

    @Test func aCancelledTaskEndsTheTimers() async throws {
        let service = try TimerService(.usual)
        let log = Log()
        let timer = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { $0.note($1) }
        let shutdown = try TimerShutdown(of: service)
        let task = Task { try await shutdown.run() }
        #expect(await soon { log.count > 2 })
        task.cancel()
        try await task.value
        #expect(timer.state == .ended(.serviceShutDown))
    }

    @Test func aShutdownWithALastTickLeavesNothingBehind() async throws {
        let (service, bag, log) = (try TimerService(.usual), TimerBag(), Log())
        for _ in 0..<2 {
            try PreciseTimer.schedule(.every(.seconds(3_600)), on: service, target: log) { $0.note($1) }.store(in: bag)
        }
        try PreciseTimer.schedule(.every(.seconds(3_600)), on: service, target: log) { $0.note($1) }
        for shutdown in [TimerShutdown(of: bag, lastTick: true), try TimerShutdown(of: service, lastTick: true)] {
            let task = Task { try await shutdown.run() }
            task.cancel()
            try await task.value
        }
        #expect(log.ticks.map(\.isExtra) == [true, true, true])
    }

    @Test func aHandlerThatNeverReturnsIsNamedAfterTheLimit() async throws {
        let (service, mayReturn, isInside) = (try TimerService(.usual), Gate(), Gate())
        let target = Log()
        try PreciseTimer.schedule(.once(after: .zero), on: service, label: "stuck", target: target) { _, _ in
            isInside.open()
            await mayReturn.pass()
        }
        await isInside.pass()
        let shutdown = try TimerShutdown(of: service, within: .milliseconds(20))
        let task = Task { try await shutdown.run() }
        task.cancel()
        let error = await #expect(throws: TimerError.self) { try await task.value }
        #expect(error?.attempted.hasPrefix("waiting 20 ms for the end of timer \"stuck\" (") == true)
        mayReturn.open()
    }

    @Test func aSharedServiceIsRefused() {
        let error = #expect(throws: TimerError.self) { try TimerShutdown(of: .default) }
        #expect(error?.code == .invalidOption)
    }
}
#endif
