import TestSupport
import Testing
import TimerKernel

/// How a thread waits for a lock.
@Suite(.waits("a thread yields to another")) struct BackoffTests {
    private func steps(isRealTime: Bool) -> [Backoff.Step] {
        var (backoff, steps) = (Backoff(), [Backoff.Step]())
        while steps.last != .wait, steps.count < 100 { steps.append(backoff.next(isRealTime)) }
        return steps
    }

    @Test func anOrdinaryThreadPausesAndYieldsFourTimesBeforeItWaits() {
        let round: [Backoff.Step] = [.pause(64), .pause(128), .pause(256), .yield]
        #expect(steps(isRealTime: false) == round + round + round + round + [.wait])
    }

    @Test func aRealTimeThreadNeverYields() {
        let round: [Backoff.Step] = [.pause(64), .pause(128), .pause(256)]
        #expect(steps(isRealTime: true) == round + round + round + round + [.wait])
    }

    @Test func thePolicyIsNotAskedForBeforeTheFirstRoundIsOver() {
        var (backoff, questions) = (Backoff(), 0)
        func isRealTime() -> Bool {
            questions += 1
            return false
        }
        for _ in 0..<3 { _ = backoff.next(isRealTime()) }
        #expect(questions == 0)
        _ = backoff.next(isRealTime())
        #expect(questions == 1)
    }
}
