import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// A service as a Swift `Clock`.
@Suite(.waits("Swift's own sleep takes the clock of a service"), .timeLimit(.minutes(60))) struct ServiceClockTests {
    private let virtual = VirtualTime()

    /// Sleeps on any clock, as a generic caller does.
    private func rest<SomeClock: Clock>(_ clock: SomeClock, for duration: SomeClock.Duration) async throws {
        try await clock.sleep(until: clock.now.advanced(by: duration), tolerance: nil)
    }

    @Test func aSleepEndsAtItsDeadlineAndNotBefore() async throws {
        let clock = virtual.service.clock
        let woken = Box<TimerInstant>()
        let sleeper = Task {
            try await rest(clock, for: .seconds(10))
            woken.value = clock.now
        }
        #expect(await soon { virtual.pendingCount == 1 })
        virtual.advanceWithoutSettling(by: .seconds(9))
        #expect(virtual.pendingCount == 1)
        let due = virtual.now.advanced(by: .seconds(1))
        virtual.advanceWithoutSettling(by: .seconds(1))
        try await sleeper.value
        #expect(woken.value == due)
        #expect(virtual.pendingCount == 0)
    }

    @Test func taskSleepTakesTheClock() async throws {
        let clock = try TimerService(.usual).clock
        let deadline = clock.now.advanced(by: .milliseconds(5))
        try await Task.sleep(until: deadline, clock: clock)
        #expect(clock.now >= deadline)
    }

    @Test func aDeadlineThatHasPassedDoesNotSleep() async throws {
        try await virtual.service.clock.sleep(until: virtual.now)
        #expect(virtual.pendingCount == 0)
    }

    @Test func aCancelledSleepThrowsAtOnceAndLeavesNoTimer() async throws {
        let clock = virtual.service.clock
        let sleeper = Task { try await rest(clock, for: .seconds(3_600)) }
        #expect(await soon { virtual.pendingCount == 1 })
        sleeper.cancel()
        #expect(await soon { virtual.pendingCount == 0 })
        await #expect(throws: CancellationError.self) { try await sleeper.value }
    }

    @Test func aSleepOnAServiceThatIsShutDownThrows() async throws {
        let (clock, service) = (virtual.service.clock, virtual.service)
        let sleeper = Task { try await rest(clock, for: .seconds(1)) }
        #expect(await soon { virtual.pendingCount == 1 })
        service.shutdown()
        let error = await #expect(throws: TimerError.self) { try await sleeper.value }
        #expect(error?.code == .shutDown)
    }

    @Test func aSleepOnAServiceThatHasEndedThrowsAndDoesNotReturnEarly() async throws {
        let (clock, deadline) = (virtual.service.clock, virtual.now.advanced(by: .seconds(5)))
        virtual.service.shutdown()
        let error = await #expect(throws: TimerError.self) { try await clock.sleep(until: deadline) }
        #expect(error?.code == .shutDown)
    }

    @Test func aDeadlineOfAnotherClockIsRefused() async throws {
        let other = TimerInstant(nanoseconds: .max / 2, clock: .wall)
        let error = await #expect(throws: TimerError.self) {
            try await virtual.service.clock.sleep(until: other)
        }
        #expect(error?.code == .invalidSchedule)
    }

    @Test func sleepsWithAToleranceShareAWakeUp() async throws {
        let clock = virtual.service.clock
        let sleepers = (0..<10)
            .map { number in
                Task {
                    let deadline = clock.now.advanced(by: .seconds(10) + .microseconds(number))
                    try await clock.sleep(until: deadline, tolerance: .seconds(1))
                }
            }
        #expect(await soon { virtual.pendingCount == 10 })
        let wakeTime = try #require(virtual.nextDeadline)
        virtual.advanceWithoutSettling(by: virtual.now.duration(to: wakeTime))
        for sleeper in sleepers { try await sleeper.value }
        #expect(virtual.now == wakeTime, "all wake at once")
    }
}
