// Races between callers and deliveries.
import Dispatch
import PreciseTimer
import Synchronization
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

/// Runs a body some times on each of some threads, with the numbers of the thread and the round.
func race(_ threads: Int, _ rounds: Int, _ body: @escaping @Sendable (Int, Int) -> Void) async throws {
    try await onThreads(threads) { thread in for round in 0..<rounds { body(thread, round) } }
}

/// A number that any thread may add to. It orders no memory, so that it hides no race from the thread sanitizer.
final class Tally: Sendable {
    private let number = Atomic(0)

    var value: Int { number.load(ordering: .relaxed) }

    func add(_ difference: Int) { number.add(difference, ordering: .relaxed) }
}

/// What happened to timers, and to their targets or to what their handlers capture.
final class Census: Sendable {
    let (cancels, ends, deaths, ticks) = (Count(), Count(), Count(), Count())
    let (running, wrong, log) = (Count(), Count(), Log())

    /// An object whose release is counted.
    var mortal: Thing { Thing { [deaths] in deaths.add(1) } }

    /// Notes a tick, and whether another handler runs meanwhile.
    func note(_ tick: PreciseTimer.Tick) {
        if running.add(1) > 1 { wrong.add(1) }
        log.note(tick)
        running.add(-1)
    }
}

/// Races between control and delivery, on every kind of delivery. The sanitizers run them, too.
@Suite(.works("threads race"), .timeLimit(.minutes(60))) struct DeliveryRaceTests {
    /// On each of five threads.
    private static let rounds = Effort.of(500, thorough: 2_500)

    @Test(arguments: DeliveryKind.allCases)
    func controlFromFiveThreadsNeitherOverlapsHandlersNorLosesTicks(kind: DeliveryKind) async throws {
        let (place, service, census) = (Place(kind), try TimerService(.usual), Census())
        let start = service.now.advanced(by: .microseconds(50))
        let schedule = PreciseTimer.Schedule.every(.microseconds(50), at: start)
        let timer = try place.schedule(schedule, on: service, target: census, handler: census.note)
        try await race(5, Self.rounds) { number, _ in
            switch number {
            case 0: timer.pause(keeping: .grid)
            case 1: timer.resume()
            case 2: timer.fire()
            case 3: _ = (service.activeTimers, timer.state, timer.label)
            default: pause(.microseconds(20))
            }
        }
        timer.resume()
        let before = census.log.count
        #expect(await soon { census.log.count > before + 3 }, "the timer still ticks")
        await timer.cancelAndWait()
        #expect(census.wrong.value == 0)
        let ticks = census.log.ticks
        // Each tick on the grid continues at the deadline where the previous one ended. An extra tick's deadline is not
        // on the grid, except by a chance of one in fifty thousand.
        let grid = ticks.filter { start.duration(to: $0.deadline) == .microseconds(50) * Int($0.index) }
        #expect(grid.flaw(from: start, every: .microseconds(50)) == nil)
        #expect(ticks.count > grid.count, "some ticks were extra ticks")
    }
}

/// Control of timers whose deadlines are computed meets their deliveries, and the watch of the clock begins and ends.
@Suite(.works("threads race"), .timeLimit(.minutes(60))) struct ComputedRaceTests {
    private typealias Schedule = PreciseTimer.Schedule

    private static let rounds = Effort.of(2_000, thorough: 10_000)

    private static func inSteps(of step: Duration) -> Schedule { .computed { $0.advanced(by: step) } }

    @Test(arguments: [TimerClock.suspending, .wall])
    func computedTimersKeepTheirPromisesWhileThreadsControlThem(clock: TimerClock) async throws {
        let backend = TimerService.Backend.available.first { $0.clocks.contains(clock) }
        let service = try TimerService(try #require(backend), clock: clock)
        let (log, ends) = (Log(), Count())
        let timers = try (0..<4)
            .map { _ in
                try PreciseTimer.schedule(
                    Self.inSteps(of: .microseconds(100)),
                    on: service,
                    target: log,
                    onEnd: { _ in ends.add(1) },
                    handler: { $0.note($1) }
                )
            }
        // Nothing disturbs this one, so each of its deadlines has a tick or is missed. On the wall clock, it would keep
        // the watch.
        let (still, step) = (Log(), UInt64(200_000))
        let grid = Schedule.computed { TimerInstant(nanoseconds: ($0.nanoseconds / step + 1) * step, clock: $0.clock) }
        let others = try (clock == .wall ? [] : [grid])
            .map { grid in
                try PreciseTimer.schedule(grid, on: service, deliver: .queue(.global()), target: still) { $0.note($1) }
            }
        #expect(await soon { log.count > 0 })
        try await race(4, Self.rounds) { thread, round in
            let timer = timers[(thread + round) % timers.count]
            switch (round * 7 + thread) % 6 {
            case 0: try? timer.reschedule(Self.inSteps(of: .microseconds(50)))
            case 1: try? timer.reschedule(.every(.microseconds(100)))
            case 2: timer.fire()
            case 3: timer.pause(keeping: .grid)
            case 4: timer.resume()
            default:
                // The only one of its kind: the watch of the clock may begin and end with it.
                let schedule = Self.inSteps(of: .microseconds(20))
                (try? PreciseTimer.schedule(schedule, on: service, target: log) { $0.note($1) })?.cancel()
            }
        }
        #expect(await soon { still.count >= 200 * others.count })
        for timer in timers + others { await timer.cancelAndWait() }
        #expect(log.ticks.allSatisfy { $0.lateness >= .zero })
        #expect([ends.value, service.pendingCount] == [timers.count, 0])
        let lost = zip(still.ticks, still.ticks.dropFirst())
            .filter { former, next in
                next.index != former.index + 1 + former.missed
                    || next.deadline.nanoseconds != former.deadline.nanoseconds + UInt64(former.missed + 1) * step
            }
        #expect(lost.count == 0)
    }
}

/// Races between the ends of timers and their ticks, on every kind of delivery. The sanitizers run them, too.
@Suite(.works("threads race"), .timeLimit(.minutes(60))) struct EndingRaceTests {
    enum Ending: CaseIterable { case cancel, cancelAndWait, releaseOfTheTarget }

    /// On each of some threads.
    private static let rounds = Effort.of(1_000, thorough: 25_000, inDebug: 5_000)

    /// All, but that an actor is the target itself, and stays.
    private static let endings: [(DeliveryKind, Ending)] = DeliveryKind.allCases.flatMap { kind in
        Ending.allCases.filter { kind != .actor || $0 != .releaseOfTheTarget }.map { (kind, $0) }
    }

    /// The return of the handler of a fixed delay begins the next delay, also if the timer has ended meanwhile. The
    /// thread sanitizer sees whether a cancel reads what that changes.
    @Test(arguments: endings)
    func anEndDuringDeliveryComesOnceAndReleasesTheHandler(kind: DeliveryKind, ending: Ending) async throws {
        let (place, service, census) = (Place(kind), try TimerService(.usual), Census())
        let isReleased = ending == .releaseOfTheTarget
        try await race(4, Self.rounds) { number, round in
            let (target, isOver, isFixedDelay) = (Thing(), Box<Bool>(), round % 10 == 9)
            let (ends, ticks) = (Count(), Count())
            let after = Duration.microseconds(round % 2 == 0 ? (round + number) % 8 : (round * 7 + number * 13) % 60)
            var captured: Thing? = census.mortal
            weak let capture = captured
            let timer = try? place.schedule(
                isFixedDelay ? .fixedDelay(.microseconds(1), after: .zero) : .every(.microseconds(5), after: after),
                on: service,
                target: target,
                onEnd: { reason in
                    census.ends.add(reason == (isReleased ? .targetReleased : .cancelled) ? 1 : 0)
                    ends.add(1)
                },
                handler: { [captured] _ in
                    if isOver.value == true { census.wrong.add(1) }
                    ticks.add(1)
                    if isFixedDelay { pause(.microseconds((round + number) % 8)) }
                    withExtendedLifetime(captured) {}
                }
            )
            captured = nil
            // Its end meets the tick that it waits for here, or one of the next.
            withExtendedLifetime(target) {
                if round % 3 == 0 { pause(.microseconds(round % 100)) }
                if isFixedDelay { ticks.awaitChange() }
                if isReleased { return }
                let hasCancelled = ending == .cancelAndWait ? timer?.cancelAndWait() : timer?.cancel()
                if hasCancelled == true { census.cancels.add(1) }
                if ending != .cancelAndWait { return }
                isOver.value = true
                if capture != nil || ends.value != 1 { census.wrong.add(1) }
            }
        }
        let all = 4 * Self.rounds
        if !isReleased { #expect(service.pendingCount == 0) }
        await place.settle()
        #expect(census.cancels.value == (isReleased ? 0 : all), "nothing else ends these timers")
        #expect(await soon { [census.ends.value, census.deaths.value, service.pendingCount] == [all, all, 0] })
        #expect(census.wrong.value == 0, "a wait ended before the last handler, the release of its captures or `onEnd`")
    }

    /// A tick on its way finds that its actor is gone, and a wait meets the end that follows.
    @Test func anActorReleasedDuringDeliveryEndsItsTimerOnceBeforeAWaitReturns() async throws {
        let (service, census) = (try TimerService(.usual), Census())
        try await race(4, Self.rounds) { number, round in
            let ends = Count()
            let timer = try? PreciseTimer.schedule(
                .every(.microseconds(20), after: .microseconds((round + number) % 30)),
                on: service,
                target: Meter(census.mortal),
                onEnd: { _ in
                    census.ends.add(1)
                    ends.add(1)
                },
                handler: { meter, _ in meter.assertIsolated() }
            )
            pause(.microseconds(round % 40))
            if timer?.cancelAndWait() == true, ends.value != 1 { census.wrong.add(1) }
        }
        let all = 4 * Self.rounds
        #expect(await soon { [census.ends.value, census.deaths.value] == [all, all] } && census.wrong.value == 0)
    }

    /// The thread that ends a timer reads it without the lock, so nobody may change a timer that has ended.
    @Test func aTimerIsSetAndReadWhileAnotherThreadEndsIt() async throws {
        let (service, census) = (try TimerService(.usual), Census())
        for round in 0..<Self.rounds / 10 {
            let timer = try PreciseTimer.schedule(
                .onDemand,
                on: service,
                paused: true,
                target: census,
                onEnd: { _ in census.ends.add(1) },
                handler: { [mortal = census.mortal] _, _ in withExtendedLifetime(mortal) {} }
            )
            try await race(3, 1) { number, _ in
                switch number {
                case 0:
                    pause(.microseconds(round % 40))
                    timer.cancel()
                    if census.deaths.value != round + 1 { census.wrong.add(1) }
                case 1: for _ in 0..<100 { try? timer.reschedule(.once(at: service.now)) }
                default: for _ in 0..<100 { _ = (service.activeTimers, timer.state, timer.label) }
                }
            }
        }
        #expect([census.ends.value, census.wrong.value] == [Self.rounds / 10, 0])
    }

    /// A debug build warns of a handle that is dropped before the first tick, and reads for that what the ticks write.
    @Test func aHandleThatIsDroppedDuringADeliveryEndsTheTimerOnce() async throws {
        let (service, census) = (try TimerService(.usual), Census())
        try await race(2, Self.rounds / 10) { number, round in
            var timer: PreciseTimer? = try? PreciseTimer.schedule(
                .every(.microseconds(5), after: .zero),
                on: service,
                onEnd: { _ in census.ends.add(1) },
                handler: { _, _ in census.ticks.add(1) }
            )
            let ticks = census.ticks.value
            while timer != nil, round % 2 == 0, census.ticks.value == ticks { pause(.microseconds(number + 1)) }
            timer = nil
        }
        // The delivery may have held the last reference.
        #expect(await soon { [census.ends.value, service.pendingCount] == [2 * Self.rounds / 10, 0] })
        let ticks = census.ticks.value
        pause(.milliseconds(5))
        #expect(census.ticks.value == ticks)
    }
}

/// Atomic variables that no lock protects, and that order other memory, used by two threads at once. The thread
/// sanitizer runs these, too.
@Suite(.works("threads race"), .timeLimit(.minutes(60))) struct AtomicTests {
    /// `TimerFDAlarm.deadline` and `wakesBy`: `SleeperTests` take their order for granted.
    @Test func aDeadlineThatIsSetWhileTheThreadFallsAsleepFires() async throws {
        let (alarm, firings) = (try TimerFDAlarm(.suspending), Count())
        try alarm.start(onFire: { firings.add(1) }, onFailure: { Issue.record("\($0)") })
        for round in 0..<Effort.of(300, thorough: 3_000) {
            try alarm.set(alarm.now.advanced(by: .seconds(3_600)))
            pause(.microseconds(round % 7 * 10))
            let before = firings.value
            try alarm.set(alarm.now.advanced(by: .microseconds(round % 11 * 30)))
            #expect(await soon { firings.value > before }, "round \(round)")
        }
        alarm.stop()
    }

    /// The flags of all backends that say that they are stopped, are active or have failed, `DispatchPreflight`'s, the
    /// pointer to the process's supervisor, and the number of the process.
    @Test(arguments: TimerService.Backend.available)
    func aShutdownBesideRequestsAndFiringsEndsEachTimerOnce(backend: TimerService.Backend) async throws {
        let (scheduled, ended, refused) = (Tally(), Tally(), Tally())
        for _ in 0..<20 {
            let (service, before) = (try TimerService(backend), scheduled.value)
            try await onThreads(4) { thread in
                if thread == 0 {
                    // The others may begin late on a busy machine.
                    while scheduled.value == before { pause(.microseconds(50)) }
                    pause(.microseconds(500))
                    service.shutdown()
                    return
                }
                let log = Log()
                for _ in 0..<100_000 {
                    let timer = try? PreciseTimer.schedule(
                        .every(.microseconds(500)),
                        on: service,
                        target: log,
                        onEnd: { _ in ended.add(1) }
                    ) { log, tick in log.note(tick) }
                    guard let timer else { return refused.add(1) }
                    scheduled.add(1)
                    if thread > 1 { continue }
                    pause(.microseconds(50))
                    timer.cancel()
                }
            }
            #expect(service.pendingCount == 0)
        }
        #expect(await soon { ended.value == scheduled.value })
        #expect(refused.value == 60, "each thread schedules until the shutdown")
    }

    /// `PollableAlarm.firing`.
    @Test func firingsOfTwoThreadsThatProcessOneAlarmDoNotOverlap() async throws {
        let alarm = try PollableAlarm(.suspending)
        // Not atomic on purpose: the flag of the alarm must protect it.
        final class Unprotected: @unchecked Sendable {
            var firings = 0
            var isInside = false
        }
        let unprotected = Unprotected()
        let overlaps = Tally()
        alarm.start(
            onFire: { [weak alarm] in
                // A call that finds no expiry due does not fire.
                do { try alarm?.set(TimerInstant(nanoseconds: 1)) } catch { Issue.record("\(error)") }
                if unprotected.isInside { overlaps.add(1) }
                unprotected.isInside = true
                unprotected.firings += 1
                unprotected.isInside = false
            },
            onFailure: { Issue.record("\($0)") }
        )
        try await onThreads(2) { _ in for _ in 0..<20_000 { alarm.process() } }
        #expect(overlaps.value == 0)
        #expect((1...40_000).contains(unprotected.firings))
        alarm.stop()
    }
}
