import PreciseTimer
import TestSupport
import Testing
import TimerAlarms

/// Services: what they cost, how long they live, and what they are to the process.
@Suite(.serialized, .timeLimit(.minutes(3))) struct ServiceTests {
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

    @Test func theThreadOfAServiceEndsWithIt() throws {
        for (backend, name) in [(Backend.timerFD, "timer.timerfd"), (.libevent, "timer.libevent")]
        where backend.availability == .available {
            // Other suites run services of their own meanwhile: what is counted are a hundred more of them.
            var services = try (0..<100).map { _ in try TimerService(backend) }
            #expect(eventually { ProcFS.threads(named: name).count >= 100 })
            #expect(services.count == 100)
            services = []
            #expect(eventually { ProcFS.threads(named: name).count < 50 })
        }
    }

    @Test(arguments: Backend.available)
    func aServiceThatIsNeverUsedEndsWithoutATrap(backend: Backend) throws {
        for _ in 0..<20 { _ = try TimerService(backend) }
        for _ in 0..<20 { try TimerService(backend).shutdown() }
    }

    @Test(arguments: Backend.available)
    func aSharedServiceIsStartedAgainByTheNextScheduleAfterAShutdown(backend: Backend) throws {
        let (service, log) = (backend.shared, Log())
        for _ in 0..<3 {
            let before = log.count
            let timer = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { $0.note($1) }
            #expect(eventually { log.count >= before + 3 })
            service.shutdown()
            #expect(timer.state == .ended(.serviceShutDown))
        }
    }

    @Test(arguments: Backend.available)
    func aServiceOfOnesOwnRefusesAfterItsShutdown(backend: Backend) throws {
        let (service, log) = (try TimerService(backend), Log())
        service.shutdown()
        let error = #expect(throws: TimerError.self) {
            try PreciseTimer.schedule(.once(after: .zero), on: service, target: log) { $0.note($1) }
        }
        #expect(error?.code == .shutDown)
        #expect(service.now <= KernelClock.now(.suspending))
    }

    @Test(arguments: Backend.available)
    func tenThousandTimersCostNoThreadAndNoDescriptorMoreThanOne(backend: Backend) throws {
        let (service, log) = (try TimerService(backend), Log())
        var timers = [try PreciseTimer.schedule(.every(.milliseconds(5)), on: service, target: log) { $0.note($1) }]
        #expect(eventually { log.count >= 3 })
        let (descriptors, threads) = (ProcFS.openDescriptors, ProcFS.threads(named: "timer.").count)
        for number in 1..<10_000 {
            let period = Duration.milliseconds(100 + number % 400)
            timers.append(try PreciseTimer.schedule(.every(period), on: service, target: log) { $0.note($1) })
        }
        #expect(service.pendingCount == 10_000)
        #expect(eventually { log.count >= 10_000 })
        // Other suites come and go meanwhile, but not by thousands.
        #expect(ProcFS.openDescriptors < descriptors + 50)
        #expect(ProcFS.threads(named: "timer.").count < threads + 50)
        for timer in timers { timer.cancel() }
        #expect(service.pendingCount == 0)
    }

    @Test func libraryThreadsAreNamedAndBlockAllSignals() throws {
        let services = try Backend.available.map { try TimerService($0) }
        #expect(eventually { !ProcFS.threads(named: "timer.timerfd").isEmpty })
        let masks = ProcFS.blockedSignals(ofThreadsNamed: "timer.")
        #expect(masks.isEmpty == false)
        // All but SIGKILL and SIGSTOP, which cannot be blocked, and the C library's own 32 and 33.
        for mask in masks { #expect(mask == "fffffffe7ffbfeff") }
        withExtendedLifetime(services) {}
    }

    @Test func noTimerDescriptorIsInherited() throws {
        let services = try Backend.available.map { try TimerService($0) }
        #expect(ProcFS.inheritableTimerDescriptors == [])
        withExtendedLifetime(services) {}
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
        #expect(again == RefusingAlarm.refusal, "not `shut down`, which nobody did")
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
