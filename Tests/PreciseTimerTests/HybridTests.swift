// Threads that spin, stay awake for short gaps, or wake early on purpose.
import Dispatch
import PreciseTimer
import Synchronization
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

/// A thread that spins sees what other threads do, keeps its budget, and says what it does.
@Suite(.works("a thread spins on a processor"), .timeLimit(.minutes(60))) struct HybridTests {
    private static let maySpin = ProcFS.processors.count > 1
    private static let oneProcessor: Comment = "needs two processors"

    /// A thread that spins, or sleeps, for a deadline, and what another thread does to it meanwhile.
    private struct Round {
        let spinner: Spinner
        let alarm: TimerFDAlarm
        let firings = Notes<TimerInstant>()
        let late: TimerInstant

        init(maximum: UInt64, in delay: Duration) throws {
            spinner = Spinner(SpinPlan(maximum: maximum, budget: 0.9))
            let alarm = try TimerFDAlarm(.suspending, spinner: spinner)
            self.alarm = alarm
            late = alarm.now.advanced(by: delay)
            try alarm.start(onFire: { [firings] in firings.append(alarm.now) }, onFailure: { _ in })
            try alarm.set(late)
            pause(.milliseconds(5))
        }

        /// Whether a spin has ended.
        var hasSpun: Bool { spinner.report.plan.share(at: alarm.now.nanoseconds) > 0 }
    }

    /// Whether an order ends a spin before it would have ended by itself, and after a number of firings. A round in
    /// which this thread stood still for so long shows nothing, so there are several.
    private func endsASpin(after firings: Int, _ act: (Round) throws -> Void) throws -> Bool {
        for _ in 0..<10 {
            let round = try Round(maximum: 1_000_000_000, in: .milliseconds(400))
            #expect(round.spinner.report.obstacle == nil)
            try act(round)
            let hasHappened = { round.firings.all.count >= firings && round.hasSpun }
            while !hasHappened(), round.alarm.now < round.late { pause(.microseconds(100)) }
            let isInTime = hasHappened() && round.alarm.now < round.late
            round.alarm.stop()
            if isInTime { return true }
        }
        return false
    }

    @Test(.enabled(if: maySpin, oneProcessor))
    func aSpinningThreadSeesWhatOtherThreadsDo() throws {
        // The first of two firings is the needless one of the first spin.
        let orders: [(Comment, Int, (Round) throws -> Void)] = [
            ("an earlier deadline", 2, { try $0.alarm.set($0.alarm.now.advanced(by: .milliseconds(1))) }),
            ("no deadline any more", 0, { try $0.alarm.set(nil) }), ("a stop", 0, { $0.alarm.stop() }),
        ]
        for (order, firings, act) in orders { #expect(try endsASpin(after: firings, act), order) }
    }

    /// A sleeping thread is woken for an earlier deadline as for the later one: early enough to spin. Its first firing,
    /// before the spin, shows that.
    @Test(.enabled(if: maySpin, oneProcessor))
    func anEarlierDeadlineThatIsSetMeanwhileIsSpunForToo() throws {
        let isSpunFor = try (0..<10)
            .contains { _ in
                let round = try Round(maximum: 100_000_000, in: .seconds(3_600))
                let deadline = round.alarm.now.advanced(by: .milliseconds(150))
                try round.alarm.set(deadline)
                while round.firings.all.isEmpty { pause(.milliseconds(1)) }
                round.alarm.stop()
                return round.firings.all[0] < deadline
            }
        #expect(isSpunFor)
    }

    /// The service's thread may use one processor from the start. The process may use two, and later only that one.
    @Test(.enabled(if: maySpin, oneProcessor))
    func aProcessThatIsPinnedWhileItRunsNoLongerSpins() async {
        await #expect(processExitsWith: .success) {
            let processor = try #require(ProcFS.processors.first)
            let (service, log) = (try TimerService(.hybrid, thread: .init(affinity: [processor])), Log())
            try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { $0.note($1) }
            #expect(eventually { (service.spin?.share ?? 0) > 0 } && service.spin?.obstacle == nil)
            try #require(ProcFS.pinMainThread(to: processor))
            let hasStopped = eventually { service.spin?.obstacle != nil && service.spin?.margin == .zero }
            #expect(hasStopped, "it looks once a second")
        }
    }

    @Test(.enabled(if: maySpin, oneProcessor))
    func aBudgetThatIsTooSmallIsKeptAndTold() throws {
        let (service, log) = (try TimerService(.hybrid, spin: .init(budget: 0.001)), Log())
        try PreciseTimer.schedule(.every(.microseconds(200)), on: service, target: log) { $0.note($1) }
        #expect(eventually { (service.spin?.cuts ?? 0) > 100 })
        #expect(try #require(service.spin).share <= 0.0021, "a budget of one second, in a window of half a second")
        let ticks = log.ticks
        #expect(ticks.flaw(from: try #require(ticks.first).deadline, every: .microseconds(200)) == nil)
        #expect(eventually { service.spin?.shortage != nil })
        let spin = try #require(service.spin)
        #expect(spin.shortage?.hasPrefix("a budget of 0.1 % of a core is too small") == true)
        #expect("\(spin)".contains("too small"))
        #expect((Duration.microseconds(2)...Duration.microseconds(20)).contains(spin.lead))
        service.shutdown()
        #expect(service.spin == nil)
    }

    @Test(arguments: TimerService.Backend.allCases.filter { $0 != .hybrid })
    func otherServicesDoNotSpinAndRefuseTo(backend: TimerService.Backend) throws {
        #expect(refusal { try TimerService(backend, spin: .init()) }?.code == .invalidOption)
        if backend.availability == .available { #expect(try TimerService(backend).spin == nil) }
    }

    @Test func optionsOutOfTheirRangeAreRefused() {
        typealias Options = TimerService.SpinOptions
        let budgets = [0, -1, 0.91, 1, .infinity, .nan].map { Options(budget: $0) }
        let maximums = [.nanoseconds(-1), .seconds(2), .seconds(Int64.max)].map { Options(maximum: $0) }
        let cases = [("the kernel stops real-time threads at 0.95", budgets), ("(0 s to 1 s are possible)", maximums)]
        for (reason, options) in cases.flatMap({ (reason, all) in all.map { (reason, $0) } }) {
            let error = refusal { try TimerService(.hybrid, spin: options) }
            #expect(error?.code == .invalidOption && error?.attempted.contains(reason) == true, "\(options)")
        }
    }

    /// If it slept for each deadline, it would leave its processor once for each firing. A shorter gap would not show
    /// that: it is over before the thread can fall asleep. After more firings it would have learned that a sleep costs
    /// less here.
    @Test(.disabled(if: isThreadSanitized, "the sanitizer's own locks make a thread leave its processor, too"))
    func aThreadStaysAwakeForShortGaps() throws {
        var gaps = ShortGaps()
        gaps.learn(price: 100_000)
        let firings = Atomic(0)
        let switches = Atomic(0)
        let (alarm, count) = (try TimerFDAlarm(.suspending, gaps: gaps), 200)
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
}

/// An alarm that fires early on purpose: its ticks are decided early, and delivered on time.
@Suite(.waits("a thread waits awake for the deadline"), .timeLimit(.minutes(60))) struct LeadTests {
    private let alarm = ManualAlarm(lead: 1_000)
    private let log = Log()
    private let deadline = TimerInstant(nanoseconds: 10_000)
    /// The alarm's time in each call of the handler. A tick's own instants are never before its deadline.
    private let calls = Notes<TimerInstant>()

    private func schedule(_ delivery: PreciseTimer.Delivery = .inline) throws {
        let every = PreciseTimer.Schedule.every(.microseconds(100), at: deadline)
        let service = try TimerService(alarm: alarm)
        try PreciseTimer.schedule(every, on: service, deliver: delivery, target: log) { [alarm, calls] log, tick in
            calls.append(alarm.now)
            log.note(tick)
        }
    }

    /// Fires at an instant. Each reading of the clock takes 25 ns from then on.
    private func fire(at nanoseconds: UInt64) {
        alarm.moveWithEachReading(by: .zero)
        alarm.move(by: alarm.now.duration(to: TimerInstant(nanoseconds: nanoseconds)))
        alarm.moveWithEachReading(by: .nanoseconds(25))
        alarm.fire()
    }

    @Test(arguments: [false, true])
    func aTickThatIsDecidedEarlyIsDeliveredWhenItsDeadlineHasCome(isOnQueue: Bool) throws {
        try schedule(isOnQueue ? .queue(DispatchQueue(label: "test")) : .inline)
        fire(at: 9_100)
        #expect(alarm.now >= deadline)
        #expect(isOnQueue ? eventually { log.count == 1 } : log.count == 1)
        let (tick, call) = (try #require(log.ticks.first), try #require(calls.all.first))
        #expect([tick.deadline, tick.woke] == [deadline, deadline], "the thread has waited until then")
        #expect(call >= deadline && tick.delivered >= deadline && tick.missed == 0)
        if !isOnQueue { #expect(tick.lateness <= .nanoseconds(25)) }
    }

    @Test func aFiringThatIsEarlierThanTheLeadSetsTheAlarmAgainAndALateOneIsLate() throws {
        try schedule()
        fire(at: 8_500)
        #expect(log.count == 0 && alarm.settings.last == deadline)
        fire(at: 250_000)
        let tick = try #require(log.ticks.first)
        #expect(tick.deadline == deadline && tick.missed == 2 && tick.wakeLateness >= .microseconds(240))
    }

    /// Otherwise the thread would spin until the clock has caught up.
    @Test func aClockThatIsSetBackDuringTheWaitEndsIt() throws {
        try schedule()
        alarm.happen(before: 5) { [alarm] in alarm.move(by: .nanoseconds(-5_000)) }
        fire(at: 9_100)
        #expect(log.ticks.map(\.lateness) == [.zero] && alarm.now < deadline)
    }
}
