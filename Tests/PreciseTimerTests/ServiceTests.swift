import PreciseTimer
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

/// The cost of services, their lifetime, and their effects on the process.
@Suite(.waits("threads, descriptors and masks belong to the process"), .timeLimit(.minutes(60))) struct ServiceTests {
    typealias Backend = TimerService.Backend

    @Test func theDefaultIsTimerFD() {
        #expect(TimerService.default === TimerService.timerFD)
    }

    @Test(arguments: Backend.available)
    func aServiceLivesWhileATimerIsPendingAndThenEnds(backend: Backend) throws {
        var service: TimerService? = try TimerService(backend)
        weak let gone = service
        let log = Log()
        let timer = try PreciseTimer.schedule(.every(.milliseconds(1)), on: try #require(service), target: log) {
            $0.note($1)
        }
        service = nil
        #expect(eventually { log.count >= 3 })
        #expect(gone != nil)
        timer.cancel()
        #expect(eventually { gone == nil })
        #expect(timer.state == .ended(.cancelled))
    }

    @Test(.needsProc) func theThreadOfAServiceEndsWithIt() throws {
        for backend in Backend.available where backend != .dispatch {
            let name = "timer.\(backend.rawValue)"
            // Other suites run their own services meanwhile, so this test counts a hundred more.
            var services = try (0..<100).map { _ in try TimerService(backend) }
            #expect(eventually { ProcFS.threads(named: name).count >= 100 })
            #expect(services.count == 100)
            services = []
            #expect(eventually { ProcFS.threads(named: name).count < 50 })
        }
    }

    @Test(.needsLinux) func theThreadThatWatchesTheWallClockEndsWithItsStream() async {
        // A separate process, in which no other test watches the clock.
        await #expect(processExitsWith: .success) {
            let service = try TimerService(.usual)
            var steps: AsyncThrowingStream<TimerService.ClockStep, any Error>? = try service.clockSteps
            #expect(eventually { ProcFS.threads(named: "timer.clock").count == 1 })
            withExtendedLifetime(steps) {}
            steps = nil
            #expect(eventually { ProcFS.threads(named: "timer.clock").isEmpty })
        }
    }

    @Test(arguments: Backend.available)
    func anUnusedServiceEndsWithoutATrap(backend: Backend) throws {
        for _ in 0..<20 { _ = try TimerService(backend) }
        for _ in 0..<20 { try TimerService(backend).shutdown() }
    }

    // Swift Testing hands values to an exit test since Swift 6.3.
    #if compiler(>=6.3)
    /// In their own processes, since a shared service is everybody's.
    @Test(arguments: Backend.available)
    func aSharedServiceIsStartedAgainByTheNextScheduleAfterAShutdown(backend: Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            let (service, log) = (backend.shared, Log())
            for _ in 0..<3 {
                let before = log.count
                let timer = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) {
                    $0.note($1)
                }
                #expect(eventually { log.count >= before + 3 })
                service.shutdownForEveryone()
                #expect(timer.state == .ended(.serviceShutDown))
            }
        }
    }

    @Test(arguments: Backend.available)
    func aSharedServiceCanBeStartedAgainFromInsideAHandler(backend: Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            let (service, old, new) = (backend.shared, Log(), Log())
            // From the service's thread, so that neither of the two timers ticks before both are scheduled.
            try PreciseTimer.schedule(.once(after: .zero), on: service, target: old) { old, _ in
                for _ in 0..<2 {
                    _ = try? PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: old) { old, tick in
                        old.note(tick)
                        service.shutdownForEveryone()
                        _ = try? PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: new) {
                            $0.note($1)
                        }
                    }
                }
            }
            #expect(eventually { new.count >= 10 })
            #expect(old.count == 1, "its sibling has ended with it")
            #expect(service.pendingCount == 1)
        }
    }
    #endif

    @Test(arguments: Backend.available)
    func anOwnServiceRefusesTimersAfterItsShutdown(backend: Backend) throws {
        let (service, log) = (try TimerService(backend), Log())
        service.shutdown()
        let error = #expect(throws: TimerError.self) {
            try PreciseTimer.schedule(.once(after: .zero), on: service, target: log) { $0.note($1) }
        }
        #expect(error?.code == .shutDown)
        #expect(service.now <= TimerClock.suspending.now)
    }

    @Test func aFiringOfAnEarlierRunDeliversNoTickAndSetsNoAlarm() throws {
        let alarms = Notes<ManualAlarm>()
        let service = TimerService(startedOnUse: {
            let alarm = ManualAlarm()
            alarms.append(alarm)
            return alarm
        })
        let log = Log()
        try PreciseTimer.schedule(.once(after: .seconds(1)), on: service, target: log) { _, _ in
            service.shutdown()
            _ = try? PreciseTimer.schedule(.once(after: .zero), on: service, target: log) { $0.note($1) }
        }
        alarms.all[0].move(by: .seconds(2))
        alarms.all[0].fire()
        #expect(alarms.all.count == 2)
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
        let (alarms, log) = (Notes<ManualAlarm>(), Log())
        let (isInside, mayReturn, isOver) = (Gate(), Gate(), Gate())
        let service = TimerService(startedOnUse: {
            let alarm = ManualAlarm()
            alarms.append(alarm)
            return alarm
        })
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

    @Test(.needsProc) func libraryThreadsAreNamedAndBlockAllSignalsButTheirOwnFaults() throws {
        let services = try Backend.available.map { try TimerService($0) }
        #expect(eventually { !ProcFS.threads(named: "timer.timerfd").isEmpty })
        if Backend.libevent.availability == .available {
            #expect(eventually { !ProcFS.threads(named: "timer.libevent").isEmpty })
        }
        #expect(ProcFS.blockedSignals(ofThreadsNamed: "timer.").isEmpty == false)
        // The C library's own signals are 32 and 33.
        let own: UInt64 = 1 << 31 | 1 << 32
        // All but SIGKILL and SIGSTOP, which cannot be blocked, and a thread's own faults. In a thread that is
        // ending, of this test or of another, the C library blocks the faults, too.
        let areBlocked = eventually {
            ProcFS.blockedSignals(ofThreadsNamed: "timer.")
                .allSatisfy { mask in UInt64(mask, radix: 16).map { $0 | own } == 0xffff_ffff_bffb_fa27 }
        }
        #expect(areBlocked)
        withExtendedLifetime(services) {}
    }

    @Test(.needsProc, .needsDescriptor) func noTimerDescriptorIsInherited() async {
        await #expect(processExitsWith: .success) {
            // Those that this process has inherited itself.
            let before = ProcFS.inheritableTimerDescriptors
            let services = try Backend.available.map { try TimerService($0) }
            precondition(ProcFS.inheritableTimerDescriptors == before)
            withExtendedLifetime(services) {}
        }
    }

    @Test func anAlarmThatCannotBeSetEndsItsTimersWithItsError() throws {
        let service = try TimerService(alarm: RefusingAlarm(settings: 1))
        let log = Log()
        let first = try PreciseTimer.schedule(.once(after: .seconds(20)), on: service, target: log) { $0.note($1) }
        let error = #expect(throws: TimerError.self) {
            try PreciseTimer.schedule(.once(after: .seconds(10)), on: service, target: log) { $0.note($1) }
        }
        #expect(error == RefusingAlarm.refusal)
        #expect(first.state == .ended(.backendFailed(RefusingAlarm.refusal)))
        #expect(service.pendingCount == 0)
        let again = #expect(throws: TimerError.self) {
            try PreciseTimer.schedule(.once(after: .seconds(10)), on: service, target: log) { $0.note($1) }
        }
        #expect(again == RefusingAlarm.refusal, "not `shut down`, since nothing shut it down")
    }

    @Test func anAlarmThatFailsEndsItsTimersWithItsError() throws {
        let alarm = RefusingAlarm(settings: .max)
        let (service, log) = (try TimerService(alarm: alarm), Log())
        let timer = try PreciseTimer.schedule(.once(after: .seconds(20)), on: service, target: log) { $0.note($1) }
        alarm.fail()
        #expect(timer.state == .ended(.backendFailed(RefusingAlarm.refusal)))
    }

    @Test func anAlarmThatDoesNotStartIsAnErrorOfTheService() {
        let error = #expect(throws: TimerError.self) { _ = try TimerService(alarm: RefusingAlarm(settings: 0)) }
        #expect(error == RefusingAlarm.refusal)
    }
}

/// The identity read is that of the running thread, even in an async function of a release build.
struct ThreadIdentityTests {
    @Test func theThreadIdentityIsReadAgainAfterASuspension() async {
        for _ in 0..<200 {
            let before = ThreadID.current
            #expect(before == stableIdentity(), "one thread always has the same identity")
            await hop()
            #expect(ThreadID.current == stableIdentity())
        }
    }

    /// Read in a function that the compiler cannot merge with its caller.
    @inline(never) @_optimize(none) private func stableIdentity() -> ThreadID { ThreadID.current }

    private func hop() async {
        await withTaskGroup { group in
            for _ in 0..<4 { group.addTask { try? await Task.sleep(for: .microseconds(50)) } }
        }
    }
}
