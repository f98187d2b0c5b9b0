// The life of services: their threads and descriptors, the alarms that fail them, and their end.
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

/// The error of a call. That there is none is an issue.
@discardableResult
func refusal(_ call: () throws -> Any, at location: SourceLocation = #_sourceLocation) -> TimerError? {
    #expect(throws: TimerError.self, sourceLocation: location) { _ = try call() }
}

/// A service that starts a new alarm whenever a timer needs one, and these alarms.
private func restartableService<Alarm: TimerAlarm>(
    _ makeAlarm: @escaping @Sendable (Int) -> Alarm
) -> (TimerService, Notes<Alarm>) {
    let alarms = Notes<Alarm>()
    let service = TimerService(startedOnUse: {
        let alarm = makeAlarm(alarms.all.count)
        alarms.append(alarm)
        return alarm
    })
    return (service, alarms)
}

/// The cost of services, their lifetime, and their effects on the process.
@Suite(.waits("threads, descriptors and masks belong to the process"), .timeLimit(.minutes(60))) struct ServiceTests {
    typealias Backend = TimerService.Backend

    private let log = Log()

    @Test(arguments: Backend.available)
    func aServiceLivesWhileATimerIsPendingAndThenEnds(backend: Backend) throws {
        weak var gone: TimerService?
        let timer: PreciseTimer
        do {
            let service = try TimerService(backend)
            gone = service
            timer = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { $0.note($1) }
        }
        #expect(eventually { log.count >= 3 } && gone != nil)
        timer.cancel()
        #expect(eventually { gone == nil } && timer.state == .ended(.cancelled))
        let isAccepted = [timer.cancel(), timer.pause(), timer.resume(), timer.restart(), timer.fire()]
        #expect(isAccepted == Array(repeating: false, count: 5) && timer.nextDeadline == nil && timer.remaining == nil)
    }

    /// With the last reference to the service, and to the target of timers that are due in the same round.
    @Test(arguments: Backend.available)
    func aHandlerMayReleaseItsService(backend: Backend) async throws {
        let (held, target) = (Box<TimerService>(), Box<Thing>())
        let (ticks, ends, isReleased) = (Count(), Count(), Gate())
        held.value = try TimerService(backend)
        target.value = Thing { isReleased.open() }
        try PreciseTimer.schedule(.once(after: .zero), on: try #require(held.value), target: ends) { ends, _ in
            guard let service = held.value, let thing = target.value else { return }
            for _ in 0..<5 {
                try PreciseTimer.schedule(
                    .once(at: service.now),
                    on: service,
                    target: thing,
                    onEnd: { _ in ends.add(1) }
                ) { _, _ in
                    ticks.add(1)
                    held.value = nil
                    target.value = nil
                }
            }
        }
        await isReleased.pass()
        #expect(await soon { ends.value == 5 } && ticks.value == 1, "no sibling is delivered")
    }

    @Test func theThreadOfAServiceEndsWithIt() throws {
        for backend in Backend.available where backend != .dispatch {
            let name = "timer.\(backend.rawValue)"
            // Other suites run their own services meanwhile, so this test counts a hundred more.
            do {
                let services = try (0..<100).map { _ in try TimerService(backend) }
                #expect(eventually { ProcFS.threads(named: name).count >= 100 })
                withExtendedLifetime(services) {}
            }
            #expect(eventually { ProcFS.threads(named: name).count < 50 })
        }
    }

    /// In a separate process, in which no other test watches the clock.
    @Test func theThreadThatWatchesTheWallClockEndsWithItsStream() async {
        await #expect(processExitsWith: .success) {
            let service = try TimerService(.usual)
            do {
                let steps = try service.clockSteps
                #expect(eventually { ProcFS.threads(named: "timer.clock").count == 1 })
                withExtendedLifetime(steps) {}
            }
            #expect(eventually { ProcFS.threads(named: "timer.clock").isEmpty })
        }
    }

    /// Dispatch ends a process that releases a source which was never activated, or is suspended.
    @Test(arguments: Backend.available)
    func anUnusedServiceEndsWithoutATrapAndRefusesTimersAfterItsShutdown(backend: Backend) throws {
        for _ in 0..<20 { _ = try TimerService(backend) }
        for _ in 0..<20 { _ = try PreciseTimer.schedule(.onDemand, on: TimerService(backend), paused: true) {} }
        let service = try TimerService(backend)
        service.shutdown()
        let error = refusal { try PreciseTimer.schedule(.onDemand, on: service, target: log) { $0.note($1) } }
        #expect(error?.code == .shutDown && service.now <= TimerClock.suspending.now)
    }

    @Test func aFiringOfAnEarlierRunDeliversNoTickAndSetsNoAlarm() throws {
        let (service, alarms) = restartableService { _ in ManualAlarm() }
        try PreciseTimer.schedule(.once(after: .seconds(1)), on: service, target: log) { log, _ in
            service.shutdown()
            _ = try? PreciseTimer.schedule(.once(after: .zero), on: service, target: log) { $0.note($1) }
        }
        alarms.all[0].move(by: .seconds(2))
        alarms.all[0].fire()
        try #require(alarms.all.count == 2)
        #expect(alarms.all[1].settings.count == 1, "the schedule set it, and the end of the firing did not")
        alarms.all[0].fire()
        #expect(log.count == 0)
        try PreciseTimer.schedule(.once(at: TimerInstant(nanoseconds: 500)), on: service, target: log) { $0.note($1) }
        #expect(alarms.all[1].settings.count == 2, "no round is going on, so an earlier deadline sets the alarm")
        alarms.all[1].fire()
        #expect(log.count == 2)
    }

    /// The handler starts the service again, and returns while a round of the new alarm is in progress.
    @Test func aRoundOfAnEarlierEpochCallsNoTimerOfTheNext() throws {
        let (service, alarms) = restartableService { _ in ManualAlarm() }
        let (isInside, mayReturn, isOver) = (Gate(), Gate(), Gate())
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: log) { log, _ in
            service.shutdown()
            _ = try? PreciseTimer.schedule(.once(after: .zero), on: service, target: log) { _, _ in
                isInside.open()
                mayReturn.pass()
            }
            _ = try? PreciseTimer.schedule(.once(after: .zero), on: service, target: log) { $0.note($1) }
            try? Thread.start("test.next") {
                alarms.all[1].fire()
                isOver.open()
            }
            isInside.pass()
        }
        alarms.all[0].fire()
        #expect(log.count == 0, "its turn is after the handler that runs")
        mayReturn.open()
        isOver.pass()
        #expect(log.count == 1)
    }

    /// SIGINT, SIGUSR1, SIGALRM and SIGTERM: a program that a handler starts inherits the mask.
    @Test func aWorkerOfDispatchThatRunsAHandlerBlocksTheUsualSignals() throws {
        let (service, seen) = (try TimerService(.dispatch), Box<String>())
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: seen) { seen, _ in
            seen.value = ProcFS.field("SigBlk:", of: "/proc/thread-self/status")
        }
        #expect(eventually { seen.value != nil })
        #expect((seen.value.flatMap { UInt64($0, radix: 16) } ?? 0) & 0x6202 == 0x6202)
    }

    @Test func libraryThreadsAreNamedAndBlockAllSignalsButTheirOwnFaults() throws {
        let services = try Backend.available.map { try TimerService($0) }
        for backend in [Backend.timerFD, .libevent] where backend.availability == .available {
            #expect(eventually { !ProcFS.threads(named: "timer.\(backend.rawValue)").isEmpty })
        }
        // The C library's own signals are 32 and 33.
        let own: UInt64 = 1 << 31 | 1 << 32
        // All but SIGKILL and SIGSTOP, which cannot be blocked, and a thread's own faults. In a thread that is
        // ending, of this test or of another, the C library blocks the faults, too.
        let areBlocked = eventually {
            let masks = ProcFS.blockedSignals(ofThreadsNamed: "timer.").map { UInt64($0, radix: 16).map { $0 | own } }
            return Set(masks) == [0xffff_ffff_bffb_fa27]
        }
        #expect(areBlocked)
        withExtendedLifetime(services) {}
    }

    @Test func noTimerDescriptorIsInherited() async {
        await #expect(processExitsWith: .success) {
            // Those that this process has inherited itself.
            let before = ProcFS.inheritableTimerDescriptors
            let services = try Backend.available.map { try TimerService($0) }
            withExtendedLifetime(services) { #expect(ProcFS.inheritableTimerDescriptors == before) }
        }
    }

    /// The identity that is read is that of the running thread, even in an async function of a release build.
    @Test func theThreadIdentityIsReadAgainAfterASuspension() async {
        for _ in 0..<200 {
            #expect(ThreadID.current == stableIdentity(), "one thread always has the same identity")
            await withTaskGroup { group in
                for _ in 0..<4 { group.addTask { try? await Task.sleep(for: .microseconds(50)) } }
            }
            #expect(ThreadID.current == stableIdentity())
        }
    }

    /// Read in a function that the compiler cannot merge with its caller.
    @inline(never) @_optimize(none) private func stableIdentity() -> ThreadID { ThreadID.current }
}

/// A service's reaction to an alarm that fails, or that refuses an order.
@Suite(.waits("other threads schedule while a start fails"), .timeLimit(.minutes(60))) struct AlarmFailureTests {
    private let reasons = Notes<PreciseTimer.EndReason>()

    private func schedule(
        _ schedule: PreciseTimer.Schedule = .once(after: .seconds(3_600)),
        on service: TimerService
    ) throws {
        try PreciseTimer.schedule(schedule, on: service, target: reasons, onEnd: reasons.append) { _, _ in }
    }

    @Test func anAlarmThatCannotBeStartedOrSetEndsItsTimersWithItsError() throws {
        #expect(throws: RefusingAlarm.refusal) { try TimerService(alarm: RefusingAlarm(settings: 0)) }
        let service = try TimerService(alarm: RefusingAlarm(settings: 1))
        try schedule(.once(after: .seconds(7_200)), on: service)
        #expect(throws: RefusingAlarm.refusal) { try schedule(on: service) }
        #expect(reasons.all == [.backendFailed(RefusingAlarm.refusal)] && service.pendingCount == 0)
        // Not `shut down`, since nothing shut it down.
        #expect(throws: RefusingAlarm.refusal) { try schedule(on: service) }
    }

    @Test func theFailureOfAnEarlierRunLeavesTheTimersOfTheNewRunAlone() throws {
        let (service, alarms) = restartableService { _ in RefusingAlarm() }
        try schedule(on: service)
        service.shutdown()
        try schedule(on: service)
        alarms.all[0].fail()
        #expect(reasons.all == [.serviceShutDown] && service.pendingCount == 1)
        alarms.all[1].fail()
        #expect(reasons.all == [.serviceShutDown, .backendFailed(RefusingAlarm.refusal)])
        #expect(alarms.all[1].stops.value == 1)
    }

    @Test func anAlarmThatFailsWhileItStartsRefusesTheSchedule() throws {
        let (service, alarms) = restartableService { number in RefusingAlarm { if number == 0 { $0.fail() } } }
        #expect(throws: RefusingAlarm.refusal) { try schedule(on: service) }
        try schedule(on: service)
        #expect(alarms.all.map(\.stops.value) == [1, 0], "the next timer starts another")
        #expect(reasons.all == [])
    }

    @Test func aCallThatStartsAServiceDoesNotBlockOtherCalls() throws {
        let (isStarting, mayStart, isScheduled) = (Gate(), Gate(), Gate())
        let (service, _) = restartableService { _ in
            RefusingAlarm { _ in
                isStarting.open()
                mayStart.pass()
            }
        }
        try Thread.start("test.schedule") { if (try? schedule(on: service)) != nil { isScheduled.open() } }
        isStarting.pass()
        #expect(service.activeTimers == [] && service.pendingCount == 0 && !isScheduled.isPassable)
        mayStart.open()
        #expect(eventually { isScheduled.isPassable })
    }

    /// The watchdog checks services on a backend, so it notices an alarm that neither fires nor reports an error.
    @Test func anAlarmThatStaysSilentAfterItsDeadlineFails() throws {
        let (service, alarms) = restartableService { _ in RefusingAlarm() }
        try schedule(on: service)
        pause(.seconds(3))
        #expect(reasons.all == [], "the alarm is not due yet")
        try schedule(.once(after: .zero), on: service)
        #expect(eventually(within: .seconds(120)) { reasons.all.count == 2 })
        if case .backendFailed = reasons.all[0] {} else { Issue.record("\(reasons.all)") }
        #expect(alarms.all[0].stops.value == 1)
    }
}

/// The end of a service with all its timers, and of all timers in a bag.
@Suite(.waits("a shutdown waits for handlers on other threads"), .timeLimit(.minutes(60))) struct ShutdownTests {
    // Swift Testing hands values to an exit test since Swift 6.3.
    #if compiler(>=6.3)
    @Test(arguments: TimerService.Backend.available)
    func aSharedServiceIsNotShutDownByAccident(backend: TimerService.Backend) async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
            [backend] in
            let (service, log) = (backend.shared, Log())
            let timer = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { $0.note($1) }
            precondition(service.shutdown() == false)
            let isEnded = await service.shutdownAndWait()
            precondition(!isEnded && timer.state == .scheduled)
            let before = log.count
            precondition(eventually { log.count > before + 3 })
            precondition(service.shutdownForEveryone())
            precondition(timer.state == .ended(.serviceShutDown))
            // The next schedule starts it again.
            let next = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { $0.note($1) }
            let count = log.count
            precondition(eventually { log.count > count + 3 })
            next.cancel()
        }
        #if DEBUG
        let lines = String(decoding: result.standardErrorContent, as: UTF8.self).split(separator: "\n")
            .filter { $0.contains(": a shared service was not shut down") }
        let place = "PreciseTimer: PreciseTimerTests/ServiceTests.swift:"
        #expect(lines.map { $0.hasPrefix(place) } == [true, true])
        #else
        _ = result
        #endif
    }
    #endif

    /// A service ends its timers one after another, the oldest last, and finalizes some in between.
    @Test(arguments: [PreciseTimer.Schedule.every(.seconds(9)), .computed { $0.advanced(by: .seconds(9)) }])
    func aTimerThatItsServiceIsAboutToEndTakesNoScheduleAndSaysSo(schedule: PreciseTimer.Schedule) throws {
        let (virtual, answers, log) = (VirtualTime(), Notes<TimerError>(), Log())
        let oldest = try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { $0.note($1) }
        for _ in 0..<64 {
            try PreciseTimer.schedule(
                .every(.seconds(1)),
                on: virtual.service,
                target: log,
                onEnd: { _ in refusal { try oldest.reschedule(schedule) }.map(answers.append) },
                handler: { $0.note($1) }
            )
        }
        virtual.service.shutdown()
        #expect(answers.all.count == 64 && Set(answers.all.map(\.code)) == [.timerEnded])
        #expect(answers.all.first?.attempted.contains("is about to, because its service ends") == true)
        #expect(virtual.pendingCount == 0)
    }

    /// The timer goes on until the shutdown that is awaited, or had ended before.
    private static let endings: [(kind: DeliveryKind, before: PreciseTimer.EndReason?)] = [
        DeliveryKind.inline, .serialQueue, .actor,
    ]
    .flatMap { kind in [(kind, nil), (kind, .cancelled), (kind, .serviceShutDown)] }

    @Test(arguments: Ground.all, endings.indices)
    func aShutdownWaitsForRunningHandlers(ground: Ground, number: Int) async throws {
        let (kind, before) = Self.endings[number]
        // A virtual service delivers inline ticks on the thread that moves the time.
        if case .virtual = ground, kind == .inline { return }
        let (site, place) = (try ground.site(), Place(kind))
        let (service, log, isInside, mayReturn, hasReturned) = (site.service, Log(), Gate(), Gate(), Gate())
        let endings = Notes<PreciseTimer.EndReason>()
        let timer = try place.schedule(.once(after: .zero), on: service, target: log, onEnd: endings.append) { _ in
            isInside.open()
            mayReturn.pass()
            hasReturned.open()
        }
        site.virtual?.advanceWithoutSettling(by: .zero)
        await isInside.pass()
        if before == .cancelled { timer.cancel() }
        if before == .serviceShutDown { service.shutdown() }
        // A call that does not wait returns before the gate is opened. It may not wait for the `onEnd` of other calls.
        let task = Task.immediate {
            let isEnding = await service.shutdownAndWait()
            return [isEnding, hasReturned.isPassable, before != nil || endings.all == [.serviceShutDown]]
        }
        #expect(timer.state == .ended(before ?? .serviceShutDown))
        mayReturn.open()
        #expect(await task.value == [before != .serviceShutDown, true, true])
        let again = await service.shutdownAndWait()
        #expect(!service.shutdown() && !again, "only one call ends a service")
    }

    /// Handlers of the whole list, not only of the part that one hold of the lock asks for. The late one is among the
    /// first or the last in the service's list of running ones.
    @Test(arguments: [1, 200]) func aShutdownWaitsForEachOfManyHandlers(late: Int) async throws {
        let (service, begun, ended) = (try TimerService(.usual), Count(), Count())
        let (mayReturn, mayReturnLate, isOver) = (Gate(), Gate(), Gate())
        let things = (0..<200).map { _ in Thing() }
        for thing in things {
            try PreciseTimer.schedule(.once(after: .zero), on: service, target: thing) { _, _ in
                let gate = begun.add(1) == late ? mayReturnLate : mayReturn
                await gate.pass()
                ended.add(1)
            }
        }
        #expect(await soon { begun.value == 200 })
        let task = Task.immediate {
            let isEnding = await service.shutdownAndWait()
            isOver.open()
            return isEnding
        }
        #expect(service.activeTimers.isEmpty)
        mayReturn.open()
        #expect(await soon { ended.value == 199 })
        // Long enough for a call that does not wait.
        try await Task.sleep(for: .milliseconds(200))
        #expect(!isOver.isPassable)
        mayReturnLate.open()
        #expect(await task.value && ended.value == 200)
        withExtendedLifetime(things) {}
    }

    @Test func aShutdownFromInsideAHandlerDoesNotWaitForIt() async throws {
        let (service, log, isOver) = (try TimerService(.usual), Log(), Gate())
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: log) { _, _ in
            await service.shutdownAndWait()
            isOver.open()
        }
        await isOver.pass()
        #expect(service.activeTimers.isEmpty)
    }
}

/// A service that other code shuts down while it is being started, and that can start again.
struct StartRaceTests {
    @Test func itIsStartedAgain() throws {
        let (starts, box) = (Count(), Box<TimerService>())
        let service = TimerService(
            startedOnUse: {
                if starts.add(1) <= 2 { box.value?.shutdownForEveryone() }
                return ManualAlarm()
            }
        )
        box.value = service
        let timer = try PreciseTimer.schedule(.once(after: .seconds(1)), on: service, target: starts) { _, _ in }
        #expect(timer.state == .scheduled && starts.value == 3)
        box.value = nil
        service.shutdownForEveryone()
    }
}
