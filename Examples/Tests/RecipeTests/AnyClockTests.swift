import PreciseTimer
import PreciseTimerTestKit
import Testing

// Code that takes some Clock, as in the guide about virtual time.

/// A job on another machine, which is done at the fourth question.
actor Job {
    private(set) var questions = 0

    func isDone() -> Bool {
        questions += 1
        return questions > 3
    }
}

/// Asks at once, and then every few seconds, until the job is done. It knows nothing of timers.
func waitUntilDone(_ job: Job, every pause: Duration, on clock: some Clock<Duration>) async throws {
    while !(await job.isDone()) { try await clock.sleep(for: pause) }
}

struct AnyClockTests {
    @Test func theJobIsAskedEveryFiveSeconds() async throws {
        let (virtual, job) = (VirtualTime(), Job())
        let start = virtual.now
        try await virtual.run { try await waitUntilDone(job, every: .seconds(5), on: virtual.clock) }
        #expect(start.duration(to: virtual.now) == .seconds(15))
        #expect(await job.questions == 4)
    }

    @Test func theClockOfAServiceAndThoseOfSwiftFitTheSameFunction() async throws {
        try await waitUntilDone(Job(), every: .milliseconds(1), on: TimerService.default.clock)
        try await waitUntilDone(Job(), every: .milliseconds(1), on: ContinuousClock())
    }
}
