import Testing
import TimerAlarms

/// How a thread waits for a lock.
struct BackoffTests {
    /// All steps up to the last one.
    private func steps(isRealTime: Bool) -> [Backoff.Step] {
        var (backoff, steps) = (Backoff(), [Backoff.Step]())
        while steps.count < 100, steps.last != .wait { steps.append(backoff.next(isRealTime)) }
        return steps
    }

    private let pauses: [Backoff.Step] = [.pause(64), .pause(128), .pause(256)]

    @Test func aThreadPausesLongerEachTimeAndYieldsFourTimesBeforeItWaits() {
        let round = pauses + [.yield]
        #expect(steps(isRealTime: false) == round + round + round + round + [.wait])
    }

    /// That would give the rest of a SCHED_DEADLINE thread's period away.
    @Test func aRealTimeThreadNeverYields() {
        #expect(steps(isRealTime: true) == pauses + pauses + pauses + pauses + [.wait])
    }
}
