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

/// When a periodic service runs its job, and what it makes of errors.
@Suite(.timeLimit(.minutes(60))) struct PeriodicServiceTests {
    struct JobError: Error {}

    let start = TimerInstant(nanoseconds: 1_000_000_000)
    let virtual: VirtualTime
    let handler = InMemoryLogHandler()
    let log = Log()
    /// When the runs began, in seconds after the start.
    let starts = Notes<Int>()
    let isInside = Gate()
    let mayReturn = Gate()

    init() { virtual = VirtualTime(at: start) }

    var logger: Logger { Logger(label: "test") { _ in handler } }

    func note(_ tick: PreciseTimer.Tick) {
        log.note(tick)
        starts.append(Int(start.duration(to: virtual.now) / .seconds(1)))
    }

    /// A job each ten seconds, in the form that takes a schedule.
    func periodic(
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
    func staying(
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
    func serve(_ service: PeriodicService, while body: (GracefulShutdownTestTrigger) async throws -> Void) async throws
    {
        try await testGracefulShutdown { trigger in
            async let served: Void = service.run()
            #expect(await soon { virtual.pendingCount == 1 })
            try await body(trigger)
            trigger.triggerGracefulShutdown()
            try await served
        }
        #expect(virtual.pendingCount == 0)
    }

    /// Lets ten seconds pass, until the job of a service that has begun is inside.
    func enter() async {
        #expect(await soon { virtual.pendingCount == 1 })
        virtual.advanceWithoutSettling(by: .seconds(10))
        await isInside.pass()
    }

    /// Moves time from deadline to deadline until a service has had a number of runs. A job runs in a task that virtual
    /// time does not know, so each is waited for.
    func advance(_ service: PeriodicService, toRun count: Int) async {
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
        try await serve(service) { _ in
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

    /// With a first run that takes seven seconds.
    @Test(arguments: [
        (PreciseTimer.Schedule.every(.seconds(10)), [0, 17, 27]),
        (.fixedDelay(.seconds(10)), [0, 17, 27]),
        (.every(.seconds(10), alignedTo: .origin(on: .suspending)), [0, 9, 19, 29]),
        (.every(.seconds(10), at: TimerInstant(nanoseconds: 6_000_000_000)), [0, 7, 15, 25]),
        (.computed { $0.advanced(by: .seconds(10)) }, [0, 17, 27]),
    ])
    func theScheduleBeginsAfterTheRunAtTheStart(schedule: PreciseTimer.Schedule, expected: [Int]) async throws {
        let service = staying(schedule, firstRun: .atStart)
        try await serve(service) { _ in
            await isInside.pass()
            virtual.advanceWithoutSettling(by: .seconds(7))
            mayReturn.open()
            #expect(await soon { virtual.nextDeadline != nil }, "the schedule has begun")
            await advance(service, toRun: expected.count)
        }
        #expect(starts.all == expected)
        #expect(log.ticks.map(\.isExtra) == expected.map { $0 == 0 })
    }

    /// With a first run that takes 25 seconds.
    @Test(arguments: [
        (PreciseTimer.Schedule.every(.seconds(10)), [10, 35, 40], [0, 1, 0]),
        (.fixedDelay(.seconds(10)), [10, 45, 55], [0, 0, 0]),
    ])
    func noRunBeginsBesideASlowOne(schedule: PreciseTimer.Schedule, expected: [Int], missed: [Int]) async throws {
        let service = staying(schedule)
        try await serve(service) { _ in
            await enter()
            #expect(service.counts.runningSince == virtual.now)
            virtual.advanceWithoutSettling(by: .seconds(25))
            mayReturn.open()
            await advance(service, toRun: 3)
        }
        await virtual.advance(by: .seconds(35))
        #expect(starts.all == expected && log.ticks.map(\.missed) == missed)
        #expect([service.counts.missed, service.counts.failures] == [missed.reduce(0, +), 0])
    }

    @Test func errorsAreLoggedAndCountedAndTheJobGoesOn() async throws {
        let errors: [(any Error)?] = [JobError(), CancellationError(), nil, JobError()]
        let told = Count()
        let tell: @Sendable (any Error) -> Void = { _ in told.add(1) }
        let service = periodic(onError: tell) { tick in if let error = errors[tick.index] { throw error } }
        try await serve(service) { _ in
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

    @Test func anErrorOfOnErrorEndsTheService() async throws {
        let giveUp: @Sendable (any Error) throws -> Void = { throw $0 }
        let service = periodic(onError: giveUp) { if $0.index == 1 { throw JobError() } }
        await #expect(throws: JobError.self) {
            try await serve(service) { _ in await advance(service, toRun: 2) }
        }
        #expect([service.counts.runs, virtual.pendingCount] == [2, 0])
    }

    @Test(arguments: [PeriodicService.FirstRun.atStart, .atStartOrFail])
    func aFirstRunThatFailsMayEndTheGroup(firstRun: PeriodicService.FirstRun) async throws {
        let told = Count()
        let tell: @Sendable (any Error) -> Void = { _ in told.add(1) }
        let service = periodic(firstRun: firstRun, onError: tell) { _ in throw JobError() }
        let waiting = ClosureService { try? await gracefulShutdown() }
        let group = ServiceGroup(services: [waiting, service], logger: logger)
        let running = Task { try await group.run() }
        if firstRun == .atStartOrFail {
            await #expect(throws: JobError.self) { try await running.value }
            #expect([service.counts.failures, told.value, virtual.pendingCount] == [1, 0, 0])
        } else {
            #expect(await soon { virtual.nextDeadline != nil }, "the schedule has begun")
            #expect(service.counts.failures == 1)
            await advance(service, toRun: 2)
            await group.triggerGracefulShutdown()
            try await running.value
            #expect([service.counts.failures, told.value] == [2, 2])
        }
    }
}
#endif
