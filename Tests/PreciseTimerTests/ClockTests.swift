// Clocks: which a backend can wait on, their steps and suspensions, and a service as a Swift `Clock`.
import PreciseTimer
import PreciseTimerTestKit
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
    func ticksAndDelaysAreThoseOfTheClockAndNeverEarly(backend: Backend, clock: TimerClock) throws {
        let (service, log, early) = (try TimerService(backend, clock: clock), Log(), Notes<Int>())
        let before = service.now
        let timer = try PreciseTimer.schedule(.every(.milliseconds(2)), on: service, target: log) {
            if clock.now < $1.deadline { early.append($1.index) }
            $0.note($1)
        }
        #expect(eventually { log.count >= 50 })
        timer.cancel()
        #expect(early.all == [] && log.ticks.flaw(every: .milliseconds(2)) == nil)
        let tick = try #require(log.ticks.first)
        #expect([before, tick.deadline, tick.woke, tick.delivered].map(\.clock) == Array(repeating: clock, count: 4))
        #expect(tick.deadline >= before.advanced(by: .milliseconds(2)))
        service.shutdown()
        #expect(service.now.clock == clock, "a service keeps its clock after its shutdown")
    }

    @Test(arguments: Backend.available)
    func anotherClockIsRefusedWithTheNamesOfTheBackendsThatCan(backend: Backend) {
        for clock in TimerClock.allCases where !backend.clocks.contains(clock) {
            let error = refusal { try TimerService(backend, clock: clock) }
            let words = error?.attempted.split { !$0.isLetter }.map(String.init) ?? []
            #expect(error?.code == .unavailable && words.contains(clock.rawValue))
            let named = Backend.allCases.filter { words.contains($0.rawValue) }
            #expect(named == Backend.allCases.filter { $0.clocks.contains(clock) || $0 == backend })
        }
    }

    @Test func theKernelsTimerSupportsAllClocksAndEveryBackendTheMonotonicOne() {
        let kernels = Set(TimerClock.allCases)
        let clocks = [Backend.timerFD, .hybrid, .libevent, .dispatch, .runLoop].map(\.clocks)
        #expect(clocks == [kernels, kernels, kernels, [.suspending, .wall], [.suspending]])
    }

    @Test func wallTimeCountsFrom1970AndOtherClocksFromTheBoot() {
        // The year 2020, and 100 years of uptime.
        #expect(TimerClock.wall.now.nanoseconds > 1_577_836_800_000_000_000)
        #expect(TimerClock.suspending.now.nanoseconds < 3_155_760_000_000_000_000)
        #expect(TimerClock.suspending.now.nanoseconds <= TimerClock.continuous.now.nanoseconds)
    }
}

/// Steps of the wall clock and suspensions, from two readings of the distances between the clocks.
struct ClockOffsetTests {
    private static let minute: Int64 = 60_000_000_000

    /// A suspension is no step, and a step is no suspension. The clocks are never told to have run backwards.
    @Test(
        arguments: [
            (-minute, 0, ClockChanges(step: .seconds(-60))), (-111, 0, ClockChanges(step: .nanoseconds(-111))),
            (-110, 0, ClockChanges()), (0, 0, ClockChanges()), (110, 0, ClockChanges()), (7, -7, ClockChanges()),
            (111, 0, ClockChanges(step: .nanoseconds(111))), (minute, 7, ClockChanges(step: .seconds(60))),
            (0, minute, ClockChanges(suspension: .seconds(60))), (0, -minute, ClockChanges()),
        ] as [(Int64, Int64, ClockChanges)]
    )
    func aStepIsMoreThanTheErrorsInEitherDirection(wall: Int64, suspended: Int64, found: ClockChanges) {
        func offset(_ more: Int64, error: Int64) -> ClockOffset { ClockOffset(nanoseconds: 5_000 + more, error: error) }
        let before = ClockOffsets(wall: offset(0, error: 50), suspended: offset(0, error: 50))
        let after = ClockOffsets(wall: offset(wall, error: 60), suspended: offset(suspended, error: 60))
        #expect(before.changes(to: after) == found)
    }

    @Test func nothingHappensToTheClocksBetweenTwoReadings() {
        // If somebody sets the clock, once in a while, one of three pairs is still without a step.
        let changes = (0..<3).map { _ in ClockOffsets.now.changes(to: .now) }
        #expect(changes.contains(ClockChanges()))
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
        let error = refusal { try TimerService(backend) }
        #expect(error?.code == .unavailable && error?.attempted.contains("trait \(trait)") == true)
        let onShared = refusal { try PreciseTimer.schedule(.onDemand, on: backend.shared) { _, _ in } }
        #expect(onShared?.code == .unavailable)
    }
}

/// A service as a Swift `Clock`.
@Suite(.waits("tasks begin to sleep"), .timeLimit(.minutes(60))) struct ServiceClockTests {
    private let virtual = VirtualTime()

    /// A sleep on the service's clock that has begun. It returns the time at its end.
    private func beginSleep(_ duration: Duration) async -> Task<TimerInstant, any Error> {
        let (clock, count) = (virtual.service.clock, virtual.pendingCount)
        let sleeper = Task {
            try await Task.sleep(until: clock.now.advanced(by: duration), clock: clock)
            return clock.now
        }
        #expect(await soon { virtual.pendingCount == count + 1 })
        return sleeper
    }

    @Test func aSleepEndsAtItsDeadlineAndNotBefore() async throws {
        let sleeper = await beginSleep(.seconds(10))
        virtual.advanceWithoutSettling(by: .seconds(9))
        #expect(virtual.pendingCount == 1)
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(try await sleeper.value == virtual.now)
        #expect(virtual.pendingCount == 0)
        try await virtual.service.clock.sleep(until: virtual.now)
        #expect(virtual.pendingCount == 0, "a deadline that has passed does not sleep")
    }

    @Test func aCancelledSleepThrowsAtOnceAndLeavesNoTimer() async throws {
        let sleeper = await beginSleep(.seconds(3_600))
        sleeper.cancel()
        #expect(await soon { virtual.pendingCount == 0 })
        await #expect(throws: CancellationError.self) { try await sleeper.value }
        let (clock, past) = (virtual.service.clock, virtual.now)
        let late = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            try await clock.sleep(until: past)
        }
        await #expect(throws: CancellationError.self, "also if nothing is left to sleep") { try await late.value }
    }

    @Test func aSleepThatCannotEndAtItsDeadlineThrows() async throws {
        let (clock, deadline) = (virtual.service.clock, virtual.now.advanced(by: .seconds(5)))
        let other = TimerInstant(nanoseconds: .max / 2, clock: .wall)
        var error = await #expect(throws: TimerError.self) { try await clock.sleep(until: other) }
        #expect(error?.code == .invalidSchedule)
        let sleeper = await beginSleep(.seconds(1))
        virtual.service.shutdown()
        error = await #expect(throws: TimerError.self) { try await sleeper.value }
        #expect(error?.code == .shutDown)
        error = await #expect(throws: TimerError.self) { try await clock.sleep(until: deadline) }
        #expect(error?.code == .shutDown, "it has not returned early")
    }
}
