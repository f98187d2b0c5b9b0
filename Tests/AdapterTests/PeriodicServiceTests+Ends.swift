#if ServiceLifecycle && Logging
import InMemoryLogging
import Logging
import PreciseTimer
import PreciseTimerLifecycle
import PreciseTimerTestKit
import ServiceLifecycle
import ServiceLifecycleTestKit
import TestSupport
import Testing

/// How a periodic service ends.
extension PeriodicServiceTests {
    private var warnings: [String] { handler.entries.filter { $0.level == .warning }.map { "\($0.message)" } }

    /// Runs a service in a task of its own, until its job is inside.
    private func start(_ service: PeriodicService) async -> Task<Void, any Error> {
        let task = Task { try await service.run() }
        await enter()
        return task
    }

    @Test func aShutdownLetsTheRunFinishAndStartsNoOtherAndTakesNoOrders() async throws {
        let service = staying()
        let hasEnded = Gate()
        try await testGracefulShutdown { trigger in
            async let served: Void = {
                try await service.run()
                hasEnded.open()
            }()
            await enter()
            // The next tick waits for the end of this run.
            virtual.advanceWithoutSettling(by: .seconds(10))
            trigger.triggerGracefulShutdown()
            #expect(await soon { virtual.pendingCount == 0 })
            #expect([service.pause(), service.resume(), service.fire()] == [false, false, false])
            let error = #expect(throws: TimerError.self) { try service.reschedule(.every(.seconds(3))) }
            #expect(error?.code == .timerEnded)
            await virtual.advance(by: .seconds(10))
            #expect(!hasEnded.isPassable)
            mayReturn.open()
            try await served
        }
        #expect([service.counts.runs, service.counts.failures, log.count] == [1, 0, 1])
    }

    @Test func aShutdownBeforeTheStartRunsNothing() async throws {
        let service = periodic(firstRun: .atStart) { [self] in note($0) }
        try await testGracefulShutdown { trigger in
            trigger.triggerGracefulShutdown()
            try await service.run()
        }
        let task = Task { try await service.run() }
        task.cancel()
        try await task.value
        #expect(log.count <= 1, "the task may have begun before it was cancelled")
        #expect(virtual.pendingCount == 0)
    }

    @Test func aJobSeesTheShutdownOfItsGroupAndTheLoggerOfTheCaller() async throws {
        let labels = Notes<String>()
        let service = periodic { [self] _ in
            labels.append(Logger.current.label)
            isInside.open()
            while !Task.isShuttingDownGracefully { try await Task.sleep(for: .milliseconds(1)) }
        }
        try await withLogger(Logger(label: "of the group")) { _ in
            try await serve(service) { _ in await enter() }
        }
        #expect(labels.all == ["of the group"])
        #expect([service.counts.runs, service.counts.failures] == [1, 0])
    }

    @Test func aJobThatCancelsItselfInAShutdownHasNotFailed() async throws {
        let job: @Sendable (PreciseTimer.Tick) async throws -> Void = { [self] _ in
            isInside.open()
            try await cancelWhenGracefulShutdown { try await Task.sleep(for: .seconds(3_600)) }
        }
        let service = periodic(onError: { throw $0 }, job: job)
        try await serve(service) { _ in await enter() }
        #expect([service.counts.runs, service.counts.failures] == [1, 0])
    }

    /// By its task, or by the limit of its group.
    @Test(arguments: [false, true]) func aCancelledServiceCancelsItsJobWhichIsNoFailure(byGroup: Bool) async throws {
        let service = periodic { [self] _ in
            isInside.open()
            try await Task.sleep(for: .seconds(3_600))
        }
        var configuration = ServiceGroupConfiguration(services: [service], logger: logger)
        configuration.maximumGracefulShutdownDuration = .milliseconds(20)
        let group = ServiceGroup(configuration: configuration)
        let task = Task { try await byGroup ? group.run() : service.run() }
        await enter()
        if byGroup { await group.triggerGracefulShutdown() } else { task.cancel() }
        try await task.value
        #expect([service.counts.runs, service.counts.failures, virtual.pendingCount] == [1, 0, 0])
        #expect(warnings.contains("cancelled, and waiting for the running job"), "if the job hangs, this names it")
    }

    @Test func aServiceRunsOnlyOnceAtATime() async throws {
        let service = staying()
        let task = await start(service)
        let error = await #expect(throws: TimerError.self) { try await service.run() }
        #expect(error?.description == "running periodic service \"job\", every 10 s: already running")
        mayReturn.open()
        task.cancel()
        try await task.value
        try await serve(service) { _ in await advance(service, toRun: 2) }
        #expect(service.counts.runs == 2)
    }

    @Test func aBadScheduleIsRefusedBeforeTheFirstRun() async {
        let service = periodic(.every(.zero), firstRun: .atStart) { [self] in note($0) }
        let error = await #expect(throws: TimerError.self) { try await service.run() }
        #expect([error?.code] == [.invalidSchedule])
        #expect(log.count == 0)
    }

    @Test func aFailureOfTheBackendEndsTheService() async throws {
        let alarm = RefusingAlarm()
        let timers = try TimerService(alarm: alarm)
        let service = PeriodicService(every: .seconds(10), on: timers) {}
        let running = Task { try await service.run() }
        #expect(await soon { timers.activeTimers.count == 1 })
        alarm.fail()
        let error = await #expect(throws: TimerError.self) { try await running.value }
        #expect(error == RefusingAlarm.refusal)
    }

    /// The timers end before the service, or after it.
    @Test(arguments: [false, true])
    func theTimersOfAServiceMayEndBeforeIt(isFirst: Bool) async throws {
        let service = staying()
        let shutdown = try TimerShutdown(of: virtual.service)
        let services: [any Service] = isFirst ? [service, shutdown] : [shutdown, service]
        let group = ServiceGroup(services: services, logger: logger)
        async let running: Void = group.run()
        await enter()
        await group.triggerGracefulShutdown()
        #expect(await soon { virtual.pendingCount == 0 })
        mayReturn.open()
        try await running
        #expect(service.counts.runs == 1)
        #expect(warnings == (isFirst ? ["no job runs any more: the timer service was shut down"] : []))
    }
}
#endif
