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

/// When a periodic service runs its job, what it makes of errors, how it ends, and how it is changed.
@Suite(.timeLimit(.minutes(60))) struct PeriodicServiceTests {
    struct JobError: Error {}

    private let start = TimerInstant(nanoseconds: 1_000_000_000)
    private let virtual: VirtualTime
    private let handler = InMemoryLogHandler()
    private let log = Log()
    /// When the runs began, in seconds after the start.
    private let starts = Notes<Int>()
    private let isInside = Gate()
    private let mayReturn = Gate()

    init() { virtual = VirtualTime(at: start) }

    private var logger: Logger { Logger(label: "test") { _ in handler } }

    private func note(_ tick: PreciseTimer.Tick) {
        log.note(tick)
        starts.append(Int(start.duration(to: virtual.now) / .seconds(1)))
    }

    /// A job each ten seconds, in the form that takes a schedule.
    private func periodic(
        _ schedule: PreciseTimer.Schedule = .every(.seconds(10)),
        firstRun: PeriodicService.FirstRun = .scheduled,
        tolerance: Duration = .zero,
        missedTicks: PreciseTimer.MissedTickPolicy = .skip,
        onError: (@Sendable (any Error) async throws -> Void)? = nil,
        job: @escaping @Sendable (PreciseTimer.Tick) async throws -> Void
    ) -> PeriodicService {
        PeriodicService(
            schedule,
            firstRun: firstRun,
            on: virtual.service,
            tolerance: tolerance,
            missedTicks: missedTicks,
            label: "job",
            logger: logger,
            onError: onError,
            job: job
        )
    }

    /// A job whose first run stays until it may return.
    private func staying(
        _ schedule: PreciseTimer.Schedule = .every(.seconds(10)),
        firstRun: PeriodicService.FirstRun = .scheduled
    ) -> PeriodicService {
        periodic(schedule, firstRun: firstRun) { [self] tick in
            note(tick)
            isInside.open()
            await mayReturn.pass()
        }
    }

    /// Lets time pass while a service runs, and shuts it down.
    private func serve(_ service: PeriodicService, while body: () async throws -> Void) async throws {
        try await testGracefulShutdown { trigger in
            async let served: Void = service.run()
            #expect(await soon { virtual.pendingCount == 1 })
            try await body()
            trigger.triggerGracefulShutdown()
            try await served
        }
        #expect(virtual.pendingCount == 0)
    }

    /// Lets ten seconds pass, until the job of a service that has begun is inside.
    private func enter() async {
        #expect(await soon { virtual.pendingCount == 1 })
        virtual.advanceWithoutSettling(by: .seconds(10))
        await isInside.pass()
    }

    /// Moves time from deadline to deadline until a service has had a number of runs. A job runs in a task that virtual
    /// time does not know, so each is waited for.
    private func advance(_ service: PeriodicService, toRun count: Int) async {
        while service.counts.runs < count {
            let before = service.counts.runs
            guard await soon({ virtual.nextDeadline != nil }), let next = virtual.nextDeadline else { break }
            await virtual.advance(by: max(.zero, virtual.now.duration(to: next)))
            guard await soon({ service.counts.runs > before }) else { break }
        }
        #expect(service.counts.runs == count)
    }

    enum Form: String, CaseIterable {
        case schedule = "_"
        case period = "every"

        static let facts = [
            "firstRun tolerance missedTicks": "[0, 12, 37, 37, 42]", "on label": "job", "onError": "1", "logger": "1",
        ]

        var row: FormRow {
            let options = "firstRun:on:tolerance:missedTicks:label:logger:onError:job:)"
            return FormRow("PeriodicService.init(\(rawValue):\(options)", facts: Self.facts)
        }
    }

    /// With a second run that takes 25 seconds.
    @Test(arguments: Form.allCases) func eachFormHeedsItsOptions(form: Form) async throws {
        let (told, labels) = (Count(), Box<[String]>())
        let tell: @Sendable (any Error) -> Void = { _ in told.add(1) }
        let job: @MainActor @Sendable () async throws -> Void = { [self] in
            labels.value = virtual.service.activeTimers.map { $0.label ?? "" }
            note(PreciseTimer.Tick(deadline: virtual.now))
            if starts.all.count == 1 { throw JobError() }
            if starts.all.count == 2 {
                isInside.open()
                await mayReturn.pass()
            }
        }
        let (slack, policy) = (Duration.seconds(2), PreciseTimer.MissedTickPolicy.catchUp(limit: 9))
        let service =
            switch form {
            case .schedule:
                periodic(
                    firstRun: .atStart,
                    tolerance: slack,
                    missedTicks: policy,
                    onError: tell,
                    job: { _ in try await job() }
                )
            case .period:
                PeriodicService(
                    every: .seconds(10),
                    firstRun: .atStart,
                    on: virtual.service,
                    tolerance: slack,
                    missedTicks: policy,
                    label: "job",
                    logger: logger,
                    onError: tell,
                    job: job
                )
            }
        try await serve(service) {
            #expect(await soon { virtual.nextDeadline != nil }, "the schedule has begun")
            virtual.advanceWithoutSettling(by: .seconds(12))
            await isInside.pass()
            virtual.advanceWithoutSettling(by: .seconds(25))
            mayReturn.open()
            #expect(await soon { service.counts.runs >= 2 })
            await advance(service, toRun: 5)
        }
        let facts = [
            "firstRun tolerance missedTicks": "\(starts.all)", "on label": labels.value?.joined() ?? "",
            "onError": "\(told.value)", "logger": "\(handler.entries.count { $0.level == .error })",
        ]
        #expect(facts == Form.facts)
    }

    /// With a first run that takes seven seconds at the start, or 25 seconds in the schedule.
    @Test(arguments: [
        (PreciseTimer.Schedule.every(.seconds(10)), 7, [0, 17, 27], [0, 0, 0]),
        (.fixedDelay(.seconds(10)), 7, [0, 17, 27], [0, 0, 0]),
        (.every(.seconds(10), alignedTo: .origin(on: .suspending)), 7, [0, 9, 19, 29], [0, 0, 0, 0]),
        (.every(.seconds(10), at: TimerInstant(nanoseconds: 6_000_000_000)), 7, [0, 7, 15, 25], [0, 0, 0, 0]),
        (.computed { $0.advanced(by: .seconds(10)) }, 7, [0, 17, 27], [0, 0, 0]),
        (.every(.seconds(10)), 25, [10, 35, 40], [0, 1, 0]), (.fixedDelay(.seconds(10)), 25, [10, 45, 55], [0, 0, 0]),
    ])
    func noRunBeginsBesideALongOne(
        schedule: PreciseTimer.Schedule,
        seconds: Int,
        expected: [Int],
        missed: [Int]
    ) async throws {
        let isAtStart = expected[0] == 0
        let service = staying(schedule, firstRun: isAtStart ? .atStart : .scheduled)
        try await serve(service) {
            if !isAtStart { await enter() }
            await isInside.pass()
            #expect(service.counts.runningSince == virtual.now)
            virtual.advanceWithoutSettling(by: .seconds(seconds))
            mayReturn.open()
            #expect(await soon { virtual.nextDeadline != nil }, "the schedule has begun")
            await advance(service, toRun: expected.count)
        }
        #expect(starts.all == expected && log.ticks.map(\.missed) == missed)
        #expect(log.ticks.map(\.isExtra) == expected.map { $0 == 0 })
        #expect([service.counts.missed, service.counts.failures] == [missed.reduce(0, +), 0])
    }

    @Test func errorsAreLoggedAndCountedAndTheJobGoesOn() async throws {
        let errors: [(any Error)?] = [JobError(), CancellationError(), nil, JobError()]
        let told = Count()
        let tell: @Sendable (any Error) -> Void = { _ in told.add(1) }
        let service = periodic(onError: tell) { tick in if let error = errors[tick.index] { throw error } }
        try await serve(service) {
            for (run, expected) in [1, 2, 0, 1].enumerated() {
                await advance(service, toRun: run + 1)
                #expect(service.counts.failuresInARow == expected)
            }
        }
        let counts = service.counts
        #expect([counts.runs, counts.failures, told.value] == [4, 3, 3])
        #expect(counts.lastError is JobError && counts.runningSince == nil)
        let entries = handler.entries.filter { $0.level == .error }
        #expect(entries.map { $0.metadata["failures_in_a_row"] } == ["1", "2", "1"])
        #expect(entries.allSatisfy { $0.error != nil && $0.metadata["job"] == "\(service)" })
    }

    /// An error of a job may end its group: if `onError` throws it, or if it is that of the first run.
    @Test(arguments: [PeriodicService.FirstRun.scheduled, .atStart, .atStartOrFail])
    func aFailureMayEndTheGroup(firstRun: PeriodicService.FirstRun) async throws {
        let told = Count()
        let tell: @Sendable (any Error) throws -> Void = { if told.add(1) == 2 { throw $0 } }
        let service = periodic(firstRun: firstRun, onError: tell) { _ in throw JobError() }
        let waiting = ClosureService { try? await gracefulShutdown() }
        let running = Task { try await ServiceGroup(services: [waiting, service], logger: logger).run() }
        let expected = firstRun == .atStartOrFail ? [1, 0] : [2, 2]
        if firstRun == .atStart {
            #expect(await soon { service.counts.runs == 1 && virtual.nextDeadline != nil }, "the schedule has begun")
        }
        if expected[0] > 1 { await advance(service, toRun: expected[0]) }
        await #expect(throws: JobError.self) { try await running.value }
        #expect([service.counts.failures, told.value, virtual.pendingCount] == expected + [0])
    }

    // MARK: Ends

    private var warnings: [String] { handler.entries.filter { $0.level == .warning }.map { "\($0.message)" } }

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

    /// It may cancel itself then, which is no failure.
    @Test(arguments: [false, true])
    func aJobSeesTheShutdownOfItsGroupAndTheLoggerOfTheCaller(cancelsItself: Bool) async throws {
        let labels = Notes<String>()
        let giveUp: @Sendable (any Error) throws -> Void = { throw $0 }
        let service = periodic(onError: giveUp) { [self] _ in
            labels.append(Logger.current.label)
            isInside.open()
            if cancelsItself { try await cancelWhenGracefulShutdown { try await Task.sleep(for: .seconds(3_600)) } }
            while !Task.isShuttingDownGracefully { try await Task.sleep(for: .milliseconds(1)) }
        }
        try await withLogger(Logger(label: "of the group")) { _ in
            try await serve(service) { await enter() }
        }
        #expect(labels.all == ["of the group"])
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
        let task = Task { try await service.run() }
        await enter()
        let error = await #expect(throws: TimerError.self) { try await service.run() }
        #expect(error?.description == "running periodic service \"job\", every 10 s: already running")
        mayReturn.open()
        task.cancel()
        try await task.value
        try await serve(service) { await advance(service, toRun: 2) }
        #expect(service.counts.runs == 2)
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

    // MARK: Changes

    @Test func anotherScheduleCountsFromNowAndNameAndCountsStay() async throws {
        let service = periodic { [self] in note($0) }
        try await serve(service) {
            await advance(service, toRun: 1)
            await virtual.advance(by: .seconds(4))
            let error = #expect(throws: TimerError.self) { try service.reschedule(.every(.zero)) }
            #expect(error?.code == .invalidSchedule && "\(service)".hasSuffix("every 10 s"), "it stays as it was")
            try service.reschedule(.every(.seconds(3)))
            await advance(service, toRun: 3)
        }
        #expect(starts.all == [10, 17, 20])
        #expect("\(service)" == "periodic service \"job\", every 3 s")
        try await serve(service) { await advance(service, toRun: 4) }
        #expect(starts.all == [10, 17, 20, 23], "it is also that of the next call")
    }

    @Test func aServiceIsPausedResumedAndAskedForARunLikeItsTimer() async throws {
        let service = periodic { [self] in note($0) }
        try await serve(service) {
            await advance(service, toRun: 1)
            #expect([service.pause(), service.pause()] == [true, false])
            await virtual.advance(by: .seconds(100))
            #expect([service.resume(), service.resume()] == [true, false])
            await advance(service, toRun: 2)
            service.pause(keeping: .grid)
            await virtual.advance(by: .seconds(25))
            service.resume()
            await advance(service, toRun: 3)
            #expect(service.fire())
            await advance(service, toRun: 5)
            service.pause()
        }
        #expect(starts.all == [10, 120, 145, 145, 150])
        #expect(log.ticks.map(\.isExtra) == [false, false, false, true, false])
        let facts = ["keeping": "\(log.ticks.map(\.missed))"]
        #expect(facts == ["keeping": "[0, 0, 1, 0, 0]"])
        let pause = FormRow("PeriodicService.pause(keeping:)", facts: facts)
        let rows = Form.allCases.map(\.row) + [pause] + LifecycleTests.rows
        #expect(try flaws(of: rows, in: "PreciseTimerLifecycle") == [])
    }

    // MARK: Before, at the start, and after

    @Test func aServiceThatDoesNotRunTakesAnotherScheduleForItsStart() async throws {
        let service = periodic(firstRun: .atStart) { [self] in note($0) }
        try service.reschedule(.every(.seconds(3)))
        try await serve(service) { await advance(service, toRun: 2) }
        #expect([service.pause(), service.resume(), service.fire()] == [false, false, false])
        try service.reschedule(.every(.zero))
        let error = await #expect(throws: TimerError.self) { try await service.run() }
        #expect(error?.code == .invalidSchedule && starts.all == [0, 3], "it is refused before the first run")
        try service.reschedule(.every(.seconds(5)))
        try await serve(service) { await advance(service, toRun: 4) }
        #expect(starts.all == [0, 3, 3, 8])
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
