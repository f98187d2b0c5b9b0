// What a service asks of the kernel for its thread; and threads that spin, stay awake for short gaps, or wake early on
// purpose.
import Dispatch
import Foundation
import Glibc
import PreciseTimer
import Synchronization
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

/// A service's thread is what was asked for, or says why not.
@Suite(.waits("the kernel grants options to a thread"), .timeLimit(.minutes(60))) struct ThreadOptionsTests {
    typealias Backend = TimerService.Backend
    typealias Options = TimerService.ThreadOptions

    private static let withOwnThread = Backend.available.filter { $0 != .dispatch }
    /// A processor that the process may use.
    private static let processor = ProcFS.processors.first ?? 0
    /// The slice of this test's own thread is the kernel's; nil on a kernel that does not show it, or has none.
    private static let usualSlice = ProcFS.slice(of: ProcFS.callingThread)

    /// A fact of the thread of a service, and of a thread that its handler makes.
    private func facts<Fact: Sendable>(
        of service: TimerService,
        _ fact: @escaping @Sendable () -> Fact
    ) throws -> (own: Fact, other: Fact) {
        let (own, other) = (Box<Fact>(), Box<Fact>())
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: own) { own, _ in
            own.value = fact()
            Foundation.Thread { other.value = fact() }.start()
        }
        #expect(eventually { own.value != nil && other.value != nil })
        return (try #require(own.value), try #require(other.value))
    }

    /// A slice is chosen, or left to the kernel.
    @Test(
        arguments: withOwnThread,
        [
            (nil, ["slice 100 µs"], 100_000), (.microseconds(3_000), ["slice 3000 µs"], 3_000_000),
            (.zero, [], usualSlice),
        ] as [(Duration?, [String], Int?)]
    )
    func anOrdinaryThreadHasTheLeastSlackAndAsksForTheShortestSlice(
        backend: Backend,
        slice: (wanted: Duration?, asked: [String], own: Int?)
    ) throws {
        let service = try TimerService(backend, thread: Options(slice: slice.wanted))
        let items = service.grant.items
        #expect(items.map { "\($0.option.rawValue) \($0.asked)" } == ["timer slack 1 ns"] + slice.asked)
        #expect(items.first?.description == "timer slack 1 ns: obtained")
        // Another thread would need CAP_SYS_NICE to read it.
        #expect(try facts(of: service) { ProcFS.timerSlack(of: ProcFS.callingThread) }.own == 1)
        // Since Linux 6.12 the slice is obtained; an older kernel, which ignores it, has no such number.
        guard items.last?.refusal == nil, Self.usualSlice != nil else { return }
        let (own, other) = try facts(of: service) { ProcFS.slice(of: ProcFS.callingThread) }
        #expect([own, other] == [slice.own, Self.usualSlice], "a thread that a handler makes has the kernel's")
    }

    @Test func aServiceOnThreadsOfOthersAsksForNothingAndSaysWhatItCannotSet() throws {
        let ended = try TimerService(.timerFD)
        ended.shutdown()
        let services = [
            try TimerService(.dispatch), try TimerService(.dispatch, thread: Options(demand: .required)),
            try TimerService.pollable().service, ended,
        ]
        #expect(services.map(\.grant.items) == [[], [], [], []])
        var options = Options(policy: .fifo(priority: 10), affinity: [0])
        let grant = try TimerService(.dispatch, thread: options).grant
        #expect(grant.refusals.map(\.option) == [.affinity, .policy])
        #expect(grant.refusals.map { $0.refusal?.code } == [.unavailable, .unavailable])
        #expect("\(grant)".contains("it cannot be set on this backend"))
        options.demand = .required
        #expect(refusal { try TimerService(.dispatch, thread: options) }?.code == .unavailable)
    }

    /// Of two real-time run loops on one processor, one may spin for Foundation's lock for ever: the other holds it.
    private static let policies: [(Backend, Options.Policy)] =
        withOwnThread.map { ($0, .fifo(priority: 7)) }
        + withOwnThread.filter { $0 != .runLoop }.map { ($0, .roundRobin(priority: 3)) }

    @Test(.enabled(if: ProcFS.maySchedule, "needs CAP_SYS_NICE"), arguments: policies)
    func aRealTimeThreadIsOneAndItsThreadsAreOrdinary(backend: Backend, policy: Options.Policy) throws {
        let options = Options(policy: policy, affinity: [Self.processor], timerSlack: .microseconds(3))
        let service = try TimerService(backend, thread: options)
        #expect(service.grant.refusals == [], "\(service.grant)")
        #expect(service.grant.items.map(\.asked) == ["3000 ns", "100 µs", "\(Self.processor)", "\(policy)"])
        let (own, other) = try facts(of: service) { ProcFS.schedulingOfCallingThread }
        let isFIFO = policy == .fifo(priority: 7)
        let wanted = ProcFS.Scheduling(policy: isFIFO ? SCHED_FIFO : SCHED_RR, priority: isFIFO ? 7 : 3)
        #expect([own, other] == [wanted, ProcFS.Scheduling(policy: SCHED_OTHER, priority: 0)])
        #expect(try facts(of: service) { ProcFS.processors }.own == [Self.processor])
    }

    /// Three different numbers, so that none can stand for another.
    @Test(.enabled(if: ProcFS.maySchedule, "needs CAP_SYS_NICE"))
    func theDeadlinePolicyIsObtainedWithItsNumbersOrRefusedWithItsReason() async throws {
        let chrt = "/usr/bin/chrt"
        let times = [100, 1_000, 2_000].map { Duration.microseconds($0) }
        let policy = Options.Policy.deadline(runtime: times[0], deadline: times[1], period: times[2])
        let service = try TimerService(.timerFD, thread: Options(policy: policy))
        let thread = try facts(of: service) { ProcFS.callingThread }.own
        let refusal = service.grant.refusals.first
        if let refusal {
            #expect(refusal.refusal?.errno != nil && refusal.refusal?.errno != EINVAL, "the numbers are possible")
            #expect(refusal.advice != nil)
        } else {
            // SCHED_DEADLINE
            #expect(try facts(of: service) { ProcFS.schedulingOfCallingThread }.own.policy == 6)
        }
        guard unsafe access(chrt, X_OK) == 0 else { return }
        let read = try await Child.run([chrt, "--pid", "\(thread)"]).output
        #expect(read.contains(": 100000/1000000/2000000") == (refusal == nil))
    }

    /// The last number is the greatest that the kernel could have.
    @Test(arguments: [40_000, 65_535])
    func anAffinityThatIsRefusedLeavesAServiceThatTicksOnAnyProcessorUnlessItIsRequired(processor: Int) throws {
        let usual = try facts(of: TimerService(.usual)) { ProcFS.processors }.own
        var options = Options(affinity: [Self.processor, processor])
        let service = try TimerService(.timerFD, thread: options)
        let item = try #require(service.grant.refusals.first)
        #expect(item.option == .affinity && item.asked == "\(Self.processor),\(processor)")
        #expect(item.refusal?.errno == EINVAL && item.advice?.contains("nproc") == true)
        #expect(try facts(of: service) { ProcFS.processors }.own == usual)
        options.demand = .required
        let error = refusal { try TimerService(.timerFD, thread: options) }
        #expect(error?.errno == EINVAL)
        #expect(["\(processor)", "nproc"].filter { error?.attempted.contains($0) == false } == [])
    }

    /// On a backend whose threads are those of others it is refused.
    @Test(arguments: Backend.available)
    func aServicesThreadHasTheNameThatWasAskedFor(backend: Backend) throws {
        // Of 15 bytes.
        let name = "ü \(backend) 012345".prefix(14).description
        let service = try TimerService(backend, thread: Options(name: name))
        let item = try #require(service.grant.items.first { $0.option == .name })
        #expect(item.asked == name && (item.refusal == nil) == (backend != .dispatch))
        #expect(ProcFS.threads(named: name).isEmpty == (backend == .dispatch))
    }

    /// If the kernel takes a thread's last processor away, the thread may run everywhere, also when that processor is
    /// back.
    @Test(.enabled(if: ProcFS.processors.count > 1, "needs two processors"), arguments: withOwnThread)
    func theGrantTellsThePresentAffinity(backend: Backend) throws {
        let service = try TimerService(backend, thread: Options(affinity: [Self.processor], demand: .required))
        let thread = try facts(of: service) { ProcFS.callingThread }.own
        #expect(service.grant.refusals == [])
        // The end of the timer that has asked for the number lends the affinity out, and gives it back.
        #expect(eventually { ProcFS.pin(thread, to: ProcFS.processors) && !service.grant.refusals.isEmpty })
        let (grant, all) = (service.grant, ProcFS.processors.map(String.init).joined(separator: ", "))
        let lost = try #require(grant.refusals.first)
        #expect(lost.option == .affinity && grant.refusals.count == 1)
        #expect(lost.refusal?.attempted.contains("it now has the processors \(all)") == true, "\(lost)")
        #expect(lost.advice?.contains("start the service again") == true)
        try #require(ProcFS.pin(thread, to: [Self.processor]))
        #expect(service.grant.refusals == [])
    }

    /// What leaves the thread is done with the main thread's processors.
    @Test(.enabled(if: ProcFS.processors.count > 1, "needs two processors"))
    func anAffinityThatIsLentForAMomentIsStillObtained() throws {
        let setup = ThreadSetup([.affinity([Self.processor])])
        let (counts, refused) = (Notes<Int>(), Notes<Bool>())
        try setup.startThread("test.lent") {
            let note = {
                counts.append(ProcFS.processors.count)
                refused.append(setup.outcomes["affinity"]?.refusal != nil)
            }
            note()
            setup.asOrdinaryThread(note)
            note()
        }
        #expect(eventually { refused.all.count == 3 })
        #expect(counts.all == [1, ProcFS.processors.count, 1] && refused.all == [false, false, false])
    }

    @Test(arguments: [
        Options(policy: .fifo(priority: 0)), Options(policy: .roundRobin(priority: 100)), Options(affinity: [-1]),
        Options(affinity: [1 << 20]), Options(timerSlack: .zero), Options(idleLatency: .nanoseconds(-1)),
        Options(idleLatency: .seconds(Int64.max)), Options(name: ""), Options(name: "eight umläute ö"),
        Options(name: "a\0b"), Options(slice: .microseconds(99)), Options(slice: .milliseconds(101)),
        Options(slice: .seconds(-1)),
        Options(policy: .deadline(runtime: .seconds(2), deadline: .seconds(1), period: .seconds(1))),
        Options(policy: .deadline(runtime: .zero, deadline: .seconds(1), period: .seconds(1))),
        Options(policy: .deadline(runtime: .seconds(1), deadline: .seconds(2), period: .seconds(1))),
        Options(policy: .deadline(runtime: .seconds(1), deadline: .seconds(1), period: .seconds(Int64.max))),
    ])
    func nonsenseIsRefusedOnEveryBackend(options: Options) throws {
        for backend in Backend.available {
            #expect(refusal { try TimerService(backend, thread: options) }?.code == .invalidOption)
        }
        refusal { try options.applyToCallingThread() }
    }

    /// A service that is started again makes its settings anew.
    @Test func onlyTheLastOutcomeOfASettingIsKept() async throws {
        let setup = ThreadSetup([.timerSlack(5), .affinity([40_000])])
        try await onOwnThread { for _ in 0..<3 { setup.makeCallingThread() } }
        #expect(setup.outcomes.mapValues { $0.refusal == nil } == ["timer slack": true, "affinity": false])
    }

    @Test func aThreadOfTheHostCanAskForTheSame() async throws {
        let slack = Duration.nanoseconds(5)
        let latency = Duration.nanoseconds(1_999)
        let options = Options(affinity: [Self.processor], timerSlack: slack, idleLatency: latency, name: "host")
        let (grants, obtained) = try await onOwnThread {
            let grants = try [Options(), Options(slice: .milliseconds(1)), options]
                .map { try $0.applyToCallingThread() }
            return (grants, ProcFS.threads(named: "host").isEmpty ? 0 : ProcFS.timerSlack(of: ProcFS.callingThread))
        }
        #expect(obtained == 5)
        // No state that is slower than asked for: the latency is rounded down.
        let last = ["name host", "timer slack 5 ns", "affinity \(Self.processor)", "idle latency 1 µs"]
        let asked = [[], ["slice 1000 µs"], last]
        #expect(grants.map { $0.items.map { "\($0.option.rawValue) \($0.asked)" } } == asked)
        #expect(grants[2].refusals.map(\.option) == [.idleLatency])
        #expect("\(grants[2])".contains("only a service holds it"))
        refusal { try Options(idleLatency: .zero, demand: .required).applyToCallingThread() }
    }

    @Test(.enabled(if: unsafe access("/dev/cpu_dma_latency", W_OK) == 0, "needs the right to write it"))
    func theIdleLatencyIsHeldWhileTheServiceRuns() throws {
        let service = try TimerService(.dispatch, thread: Options(idleLatency: .zero))
        #expect(service.grant.refusals == [])
        var counts = [ProcFS.openDescriptors(on: "/dev/cpu_dma_latency")]
        service.shutdown()
        counts.append(ProcFS.openDescriptors(on: "/dev/cpu_dma_latency"))
        refusal {
            try TimerService(.timerFD, thread: Options(affinity: [40_000], idleLatency: .zero, demand: .required))
        }
        counts.append(ProcFS.openDescriptors(on: "/dev/cpu_dma_latency"))
        #expect(counts == [1, 0, 0])
    }
}

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
            #expect(
                eventually { service.spin?.obstacle != nil && service.spin?.margin == .zero },
                "it looks once a second"
            )
            #expect(service.spin?.obstacle?.contains("only one processor") == true)
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
