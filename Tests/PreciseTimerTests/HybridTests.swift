import PreciseTimer
import Synchronization
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

/// A thread that spins sees what other threads do, keeps its budget, and says what it does.
@Suite(.works("a thread spins on a processor"), .timeLimit(.minutes(60))) struct HybridTests {
    private static let maySpin = Platform.processors > 1
    private static let oneProcessor: Comment = "needs two processors"

    /// A thread that spins for a deadline in 400 ms, and what another thread does to it meanwhile.
    private struct Round {
        let spinner: Spinner
        let alarm: TimerFDAlarm
        let firings = Notes<TimerInstant>()
        let late: TimerInstant

        init() throws {
            spinner = Spinner(SpinPlan(maximum: 1_000_000_000, budget: 0.9))
            let alarm = try TimerFDAlarm(.suspending, spinner: spinner)
            self.alarm = alarm
            late = alarm.now.advanced(by: .milliseconds(400))
            try alarm.start(onFire: { [firings] in firings.append(alarm.now) }, onFailure: { _ in })
            try alarm.set(late)
            pause(.milliseconds(5))
        }

        /// Whether a spin has ended.
        var hasSpun: Bool { spinner.report.plan.share(at: alarm.now.nanoseconds) > 0 }
    }

    /// Whether something happens before the spin would have ended by itself. A round in which this thread stood still
    /// for so long shows nothing, so there are several.
    private func happensInTime(_ act: (Round) throws -> Void, _ hasHappened: (Round) -> Bool) throws -> Bool {
        for _ in 0..<10 {
            let round = try Round()
            #expect(round.spinner.report.obstacle == nil)
            try act(round)
            while !hasHappened(round), round.alarm.now < round.late { pause(.microseconds(100)) }
            let isInTime = hasHappened(round) && round.alarm.now < round.late
            round.alarm.stop()
            if isInTime { return true }
        }
        return false
    }

    @Test(.enabled(if: maySpin, oneProcessor))
    func aSpinningThreadServesAnEarlierDeadlineThatIsSetMeanwhile() throws {
        let isServed = try happensInTime {
            try $0.alarm.set($0.alarm.now.advanced(by: .milliseconds(1)))
        } _: { round in
            // The first firing is the needless one of the first spin.
            round.firings.all.count >= 2 && round.hasSpun
        }
        #expect(isServed)
    }

    @Test(.enabled(if: maySpin, oneProcessor))
    func aSpinningThreadSleepsOnceItsDeadlineIsTakenAway() throws {
        #expect(try happensInTime({ try $0.alarm.set(nil) }, \.hasSpun))
    }

    @Test(.enabled(if: maySpin, oneProcessor))
    func aSpinningThreadEndsWhenItIsStopped() throws {
        #expect(try happensInTime({ $0.alarm.stop() }, \.hasSpun))
    }

    /// A sleeping thread is woken for an earlier deadline as for the later one: early enough to spin. Its first firing,
    /// before the spin, shows that.
    @Test(.enabled(if: maySpin, oneProcessor))
    func anEarlierDeadlineThatIsSetMeanwhileIsSpunForToo() throws {
        let isSpunFor = try (0..<10)
            .contains { _ in
                let alarm = try TimerFDAlarm(.suspending, spinner: Spinner(SpinPlan(maximum: 100_000_000, budget: 0.9)))
                let firings = Notes<TimerInstant>()
                try alarm.start(onFire: { firings.append(alarm.now) }, onFailure: { _ in })
                try alarm.set(alarm.now.advanced(by: .seconds(3_600)))
                // The thread must be asleep.
                pause(.milliseconds(5))
                let deadline = alarm.now.advanced(by: .milliseconds(150))
                try alarm.set(deadline)
                while firings.all.isEmpty { pause(.milliseconds(1)) }
                alarm.stop()
                return firings.all.first.map { $0 < deadline } ?? false
            }
        #expect(isSpunFor)
    }

    /// The service's thread may use one processor from the start. The process may use two, and later only that one.
    @Test(.needsLinux, .enabled(if: maySpin, oneProcessor))
    func aProcessThatIsPinnedWhileItRunsNoLongerSpins() async {
        await #expect(processExitsWith: .success) {
            let processor = try #require(ProcFS.processors.first)
            let (service, log) = (try TimerService(.hybrid, thread: .init(affinity: [processor])), Log())
            try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { $0.note($1) }
            #expect(eventually { (service.spin?.share ?? 0) > 0 })
            #expect(service.spin?.obstacle == nil)
            try #require(ProcFS.pinMainThread(to: processor))
            #expect(eventually { service.spin?.obstacle != nil }, "it looks once a second")
            #expect(eventually { service.spin?.margin == .zero })
        }
    }

    @Test(.enabled(if: maySpin, oneProcessor))
    func theServiceSaysWhatItsThreadDoes() throws {
        let (service, log) = (try TimerService(.hybrid, spin: .init(maximum: .microseconds(300), budget: 0.5)), Log())
        try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { $0.note($1) }
        #expect(eventually { log.count >= 100 && (service.spin?.share ?? 0) > 0 })
        let spin = try #require(service.spin)
        // Two and a half times the maximum: after a stall the next deadline is a rare one.
        #expect(spin.margin <= .microseconds(750))
        #expect(spin.share <= 0.5)
        #expect(spin.obstacle == nil || spin.margin == .zero)
        service.shutdown()
        #expect(service.spin == nil)
    }

    @Test(.enabled(if: maySpin, oneProcessor))
    func theBudgetIsKeptAndItsCutsAreCounted() throws {
        let (service, log) = (try TimerService(.hybrid, spin: .init(budget: 0.001)), Log())
        defer { service.shutdown() }
        try PreciseTimer.schedule(.every(.microseconds(200)), on: service, target: log) { $0.note($1) }
        #expect(eventually { (service.spin?.cuts ?? 0) > 100 })
        #expect(try #require(service.spin).share <= 0.0021, "a budget of one second, in a window of half a second")
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

    /// If it slept for each deadline, it would leave its processor once for each firing. A shorter gap would not show
    /// that: it is over before the thread can fall asleep. After more firings it would have learned that a sleep costs
    /// less here.
    @Test(
        .needsProc,
        .disabled(if: isThreadSanitized, "the sanitizer's own locks make a thread leave its processor, too")
    )
    func aThreadStaysAwakeForShortGaps() throws {
        var gaps = ShortGaps()
        gaps.learn(price: 100_000)
        let firings = Atomic(0)
        let switches = Atomic(0)
        let alarm = try TimerFDAlarm(.suspending, gaps: gaps)
        let count = 200
        try alarm.start(
            onFire: {
                let number = firings.add(1, ordering: .relaxed).newValue
                if number == 1 { switches.subtract(ProcFS.sleepsOfCallingThread, ordering: .relaxed) }
                if number == count { switches.add(ProcFS.sleepsOfCallingThread, ordering: .releasing) }
                if number < count { try? alarm.set(alarm.now.advanced(by: .microseconds(15))) }
            },
            onFailure: { _ in }
        )
        try alarm.set(alarm.now)
        #expect(eventually { switches.load(ordering: .acquiring) >= 0 && firings.load(ordering: .relaxed) >= count })
        #expect(switches.load(ordering: .relaxed) < count / 2)
        alarm.stop()
    }

    @Test(.enabled(if: maySpin, oneProcessor))
    func theLeadIsTold() throws {
        let (service, log) = (try TimerService(.hybrid), Log())
        defer { service.shutdown() }
        try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { $0.note($1) }
        #expect(eventually { log.count >= 100 })
        let spin = try #require(service.spin)
        #expect((Duration.microseconds(2)...Duration.microseconds(20)).contains(spin.lead))
    }

    /// An alarm whose decisions take 9 µs fires that early.
    @Test(.enabled(if: maySpin, oneProcessor))
    func theLeadFollowsTheDecisions() throws {
        let alarm = try TimerFDAlarm(.suspending, spinner: Spinner(SpinPlan(maximum: 100_000, budget: 0.5)))
        let next = Atomic<UInt64>(0)
        try alarm.start(
            onFire: {
                let deadline = TimerInstant(nanoseconds: next.load(ordering: .relaxed))
                let now = alarm.now
                guard deadline.nanoseconds <= now.nanoseconds + alarm.lead else { return }
                while alarm.now < now.advanced(by: .microseconds(9)) {}
                _ = alarm.now(notBefore: deadline)
                let later = alarm.now.advanced(by: .milliseconds(1))
                next.store(later.nanoseconds, ordering: .relaxed)
                try? alarm.set(later)
            },
            onFailure: { _ in }
        )
        try alarm.set(alarm.now)
        #expect(eventually { alarm.lead >= 9_000 })
        alarm.stop()
    }

    @Test(.enabled(if: maySpin, oneProcessor))
    func aBudgetThatIsTooSmallIsTold() throws {
        let (service, log) = (try TimerService(.hybrid, spin: .init(budget: 0.001)), Log())
        defer { service.shutdown() }
        try PreciseTimer.schedule(.every(.microseconds(200)), on: service, target: log) { $0.note($1) }
        #expect(eventually { service.spin?.shortage != nil })
        let shortage = try #require(service.spin?.shortage)
        #expect(shortage.hasPrefix("a budget of 0.1 % of a core is too small"))
        #expect("\(try #require(service.spin))".contains("too small"))
    }
}
