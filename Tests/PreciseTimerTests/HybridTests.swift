import PreciseTimer
import TestSupport
import Testing
import TimerAlarms
import TimerCore

/// A thread that spins sees what other threads do, keeps its budget, and says what it does.
@Suite(.serialized, .timeLimit(.minutes(60))) struct HybridTests {
    /// An alarm that spins at once for deadlines up to almost half a second away.
    private func makeSpinningAlarm() throws -> (TimerFDAlarm, Spinner) {
        let spinner = Spinner(SpinPlan(maximum: 1_000_000_000, budget: 0.9))
        return (try TimerFDAlarm(.suspending, spinner: spinner), spinner)
    }

    private func hasSpun(_ spinner: Spinner) -> Bool {
        spinner.report.plan.share(at: TimerClock.suspending.now.nanoseconds) > 0
    }

    @Test func aSpinningThreadServesAnEarlierDeadlineThatIsSetMeanwhile() throws {
        let (alarm, _) = try makeSpinningAlarm()
        let firings = Notes<TimerInstant>()
        try alarm.start(onFire: { firings.append(alarm.now) }, onFailure: { _ in })
        defer { alarm.stop() }
        let late = alarm.now.advanced(by: .milliseconds(400))
        try alarm.set(late)
        pause(.milliseconds(5))
        let early = alarm.now.advanced(by: .milliseconds(1))
        try alarm.set(early)
        #expect(eventually { firings.all.contains { $0 >= early.advanced(by: .microseconds(-1)) } })
        // The deadline was replaced, so nothing fires for the former one.
        let count = firings.all.count
        pause(.milliseconds(450))
        #expect(firings.all.count == count)
    }

    @Test func aSpinningThreadSleepsOnceItsDeadlineIsTakenAway() throws {
        let (alarm, spinner) = try makeSpinningAlarm()
        try alarm.start(onFire: {}, onFailure: { _ in })
        defer { alarm.stop() }
        try alarm.set(alarm.now.advanced(by: .milliseconds(400)))
        pause(.milliseconds(5))
        #expect(!hasSpun(spinner), "it is paid when it ends")
        try alarm.set(nil)
        #expect(eventually { hasSpun(spinner) })
    }

    @Test func aSpinningThreadEndsWhenItIsStopped() throws {
        weak var gone: TimerFDAlarm?
        do {
            let (alarm, _) = try makeSpinningAlarm()
            try alarm.start(onFire: {}, onFailure: { _ in })
            try alarm.set(alarm.now.advanced(by: .milliseconds(400)))
            pause(.milliseconds(5))
            alarm.stop()
            gone = alarm
        }
        #expect(eventually { gone == nil })
    }

    @Test func theServiceSaysWhatItsThreadDoes() throws {
        let (service, log) = (try TimerService(.hybrid, spin: .init(maximum: .microseconds(300), budget: 0.5)), Log())
        try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { $0.note($1) }
        #expect(eventually { log.count >= 100 && (service.spin?.share ?? 0) > 0 })
        let spin = try #require(service.spin)
        #expect(spin.margin <= .microseconds(300))
        #expect(spin.share <= 0.5)
        #expect(spin.obstacle == nil || spin.margin == .zero)
        service.shutdown()
        #expect(service.spin == nil)
    }

    @Test func theBudgetIsKeptAndItsCutsAreCounted() throws {
        let (service, log) = (try TimerService(.hybrid, spin: .init(budget: 0.001)), Log())
        defer { service.shutdown() }
        try PreciseTimer.schedule(.every(.microseconds(200)), on: service, target: log) { $0.note($1) }
        #expect(eventually { (service.spin?.cuts ?? 0) > 100 })
        #expect(try #require(service.spin).share <= 0.002, "a budget of one second, in a window of half a second")
        let ticks = log.ticks
        #expect(ticks.allSatisfy { $0.delivered >= $0.deadline })
        for (tick, next) in zip(ticks, ticks.dropFirst()) { #expect(next.index == tick.index + 1 + tick.missed) }
    }

    @Test func otherServicesDoNotSpin() throws {
        for backend in TimerService.Backend.available where backend != .hybrid {
            #expect(try TimerService(backend).spin == nil)
        }
    }

    @Test(arguments: [0, -1, 0.91, 1, .infinity, .nan])
    func aBudgetOutOfItsRangeIsRefused(budget: Double) throws {
        let error = #expect(throws: TimerError.self) { try TimerService(.hybrid, spin: .init(budget: budget)) }
        #expect(error?.code == .invalidOption)
        #expect(error?.attempted.contains("the kernel stops real-time threads at 0.95") == true)
    }

    @Test(arguments: [.nanoseconds(-1), .seconds(2), .seconds(Int64.max)] as [Duration])
    func aMaximumOutOfItsRangeIsRefused(maximum: Duration) throws {
        let error = #expect(throws: TimerError.self) { try TimerService(.hybrid, spin: .init(maximum: maximum)) }
        #expect(error?.code == .invalidOption)
    }

    @Test func spinOptionsOfABackendThatDoesNotSpinAreRefused() throws {
        for backend in TimerService.Backend.allCases where backend != .hybrid {
            let error = #expect(throws: TimerError.self) { try TimerService(backend, spin: .init()) }
            #expect(error?.code == .invalidOption)
        }
    }
}
