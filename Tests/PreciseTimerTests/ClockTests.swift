import PreciseTimer
import TestSupport
import Testing
import TimerKernel

/// Timers on every clock that a backend can wait on.
@Suite(.waits("the kernel has these clocks"), .timeLimit(.minutes(60))) struct ClockTests {
    typealias Backend = TimerService.Backend

    private static let pairs = Backend.available.flatMap { backend in
        TimerClock.allCases.filter(backend.clocks.contains).map { (backend, $0) }
    }

    @Test(arguments: pairs)
    func ticksAreOnTheGridOfTheirClockAndNeverEarly(backend: Backend, clock: TimerClock) throws {
        let (service, log, early) = (try TimerService(backend, clock: clock), Log(), Notes<Int>())
        let start = service.now.advanced(by: .milliseconds(2))
        let timer = try PreciseTimer.schedule(.every(.milliseconds(2), at: start), on: service, target: log) {
            if clock.now < $1.deadline { early.append($1.index) }
            $0.note($1)
        }
        #expect(eventually { log.count >= 50 })
        timer.cancel()
        #expect(early.all == [])
        #expect(log.ticks.flaw(from: start, every: .milliseconds(2)) == nil)
    }

    @Test(arguments: pairs)
    func delaysAreCountedOnTheClockOfTheService(backend: Backend, clock: TimerClock) throws {
        let (service, log) = (try TimerService(backend, clock: clock), Log())
        let before = service.now
        #expect(before.clock == clock)
        try PreciseTimer.schedule(.once(after: .milliseconds(3)), on: service, target: log) { $0.note($1) }
        #expect(eventually { log.count == 1 })
        let tick = try #require(log.ticks.first)
        #expect(tick.deadline >= before.advanced(by: .milliseconds(3)))
        #expect([tick.deadline, tick.woke, tick.delivered].allSatisfy { $0.clock == clock })
    }

    @Test(arguments: pairs)
    func anInstantOfAnotherClockIsRefused(backend: Backend, clock: TimerClock) throws {
        let (service, log) = (try TimerService(backend, clock: clock), Log())
        for other in TimerClock.allCases where other != clock {
            let error = #expect(throws: TimerError.self) {
                try PreciseTimer.schedule(.once(at: other.now), on: service, target: log) { $0.note($1) }
            }
            #expect(error?.code == .invalidSchedule)
        }
        #expect(service.activeTimers == [])
    }

    @Test func aServiceKeepsItsClockAfterItsShutdown() throws {
        let service = try TimerService(.dispatch, clock: .wall)
        service.shutdown()
        #expect(service.now.clock == .wall)
    }
}

/// Steps of the wall clock and suspensions, from two readings of the distances between the clocks.
struct ClockOffsetTests {
    private func jump(_ first: (Int64, error: Int64), _ second: (Int64, error: Int64)) -> Duration? {
        ClockOffset(nanoseconds: first.0, error: first.error)
            .jump(to: ClockOffset(nanoseconds: second.0, error: second.error))
    }

    /// What is found if the wall clock and the continuous clock are ahead of the clocks below them by so much more.
    private func changes(wall: Int64, suspended: Int64) -> ClockChanges {
        let zero = ClockOffset(nanoseconds: 5_000, error: 50)
        let before = ClockOffsets(wall: zero, suspended: zero)
        return before.changes(
            to: ClockOffsets(
                wall: ClockOffset(nanoseconds: 5_000 + wall, error: 60),
                suspended: ClockOffset(nanoseconds: 5_000 + suspended, error: 60)
            )
        )
    }

    @Test func jumpsInBothDirectionsAreFound() {
        #expect(jump((5_000, error: 50), (3_600_000_005_000, error: 60)) == .seconds(3_600))
        #expect(jump((3_600_000_005_000, error: 50), (5_000, error: 60)) == .seconds(-3_600))
    }

    @Test func aDifferenceWithinTheErrorsIsNoJump() {
        for difference in [-110, -1, 0, 1, 110] as [Int64] {
            #expect(jump((5_000, error: 50), (5_000 + difference, error: 60)) == nil, "\(difference)")
        }
        #expect(jump((5_000, error: 50), (5_111, error: 60)) == .nanoseconds(111))
        #expect(jump((5_000, error: 50), (4_889, error: 60)) == .nanoseconds(-111))
    }

    @Test func aSuspensionIsNoStepAndAStepIsNoSuspension() {
        let minute: Int64 = 60_000_000_000
        #expect(changes(wall: 0, suspended: minute) == ClockChanges(suspension: .seconds(60)))
        #expect(changes(wall: -minute, suspended: 0) == ClockChanges(step: .seconds(-60)))
        #expect(changes(wall: minute, suspended: 7) == ClockChanges(step: .seconds(60)))
        #expect(changes(wall: 7, suspended: -7) == ClockChanges())
        // The clocks are never told to have run backwards.
        #expect(changes(wall: 0, suspended: -minute) == ClockChanges())
    }

    @Test func nothingHappensToTheClocksBetweenTwoReadings() {
        // If somebody sets the clock, once in a while, one of three pairs is still without a step.
        let changes = (0..<3).map { _ in ClockOffsets.now.changes(to: .now) }
        #expect(changes.contains(ClockChanges()))
    }
}

/// The clocks that a backend can wait on, and the errors for other clocks.
struct BackendClockTests {
    typealias Backend = TimerService.Backend

    @Test(arguments: Backend.allCases, TimerClock.allCases)
    func aClockIsSupportedOrRefusedWithTheNamesOfAbleBackends(backend: Backend, clock: TimerClock) throws {
        guard backend.availability == .available else { return }
        guard !backend.clocks.contains(clock) else {
            let service = try TimerService(backend, clock: clock)
            #expect(service.now.clock == clock)
            return
        }
        let error = #expect(throws: TimerError.self) { try TimerService(backend, clock: clock) }
        #expect(error?.code == .unavailable)
        let words = error?.attempted.split { !$0.isLetter }.map(String.init) ?? []
        #expect(words.contains(clock.rawValue))
        let able = Backend.allCases.filter { $0.clocks.contains(clock) }
        let named = Backend.allCases.filter { words.contains($0.rawValue) }
        #expect(Set(named) == Set(able + [backend]))
    }

    @Test func everyBackendSupportsTheMonotonicClockAndTheKernelsTimerOnLinuxAll() {
        for backend in Backend.allCases { #expect(backend.clocks.contains(.suspending)) }
        let kernels: Set<TimerClock> = Platform.isLinux ? Set(TimerClock.allCases) : [.suspending, .continuous]
        for backend in [Backend.timerFD, .hybrid, .libevent] { #expect(backend.clocks == kernels) }
        #expect(Backend.dispatch.clocks == [.suspending, .wall])
        #expect(Backend.runLoop.clocks == [.suspending])
    }

    @Test func wallTimeCountsFrom1970AndOtherClocksFromTheBoot() {
        // The year 2020, and 100 years of uptime.
        #expect(TimerClock.wall.now.nanoseconds > 1_577_836_800_000_000_000)
        #expect(TimerClock.suspending.now.nanoseconds < 3_155_760_000_000_000_000)
        #expect(TimerClock.suspending.now.nanoseconds <= TimerClock.continuous.now.nanoseconds)
    }
}

/// A package trait adds a backend; without its trait, the backend is reported as unavailable and refuses to start.
struct AvailabilityTests {
    typealias Backend = TimerService.Backend

    /// The backends that this build leaves out, and their traits.
    private static let missing: [Backend: String] = {
        var missing: [Backend: String] = [:]
        #if !Libevent
        missing[.libevent] = "Libevent"
        #endif
        #if !RunLoop
        missing[.runLoop] = "RunLoop"
        #endif
        return missing
    }()

    @Test(arguments: Backend.allCases)
    func aBackendIsUnavailableOnlyWithoutItsTrait(backend: Backend) throws {
        guard let trait = Self.missing[backend] else {
            #expect(backend.availability == .available)
            return
        }
        let reason = "this build of PreciseTimer has the package trait \(trait) disabled"
        #expect(backend.availability == .unavailable(reason))
        let error = #expect(throws: TimerError.self) { try TimerService(backend) }
        #expect(error?.code == .unavailable)
        #expect(error?.attempted.contains("trait \(trait)") == true)
    }

    @Test(arguments: missing.keys)
    func aTimerOnTheSharedServiceOfAMissingBackendIsRefused(backend: Backend) {
        let error = #expect(throws: TimerError.self) {
            try PreciseTimer.schedule(.once(after: .zero), on: backend.shared) { _, _ in }.cancel()
        }
        #expect(error?.code == .unavailable)
    }
}
