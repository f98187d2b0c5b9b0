import AsyncAlgorithms
import ExampleSupport
import PreciseTimer

/// Uses a service's clock with swift-async-algorithms, and merges ticks with another sequence.
@main
enum AsyncSequences {
    static func main() async throws {
        let service = TimerService.default
        try await repeatByTheClock(service.clock)
        try await mergeTicks(of: service)
        // `merge` starts its own tasks, which end soon after the loop is left.
        try await wait(for: "the timers of both sequences to end") { service.activeTimers.isEmpty }
    }

    /// `AsyncTimerSequence` takes any clock; this one wakes by the service's alarm.
    private static func repeatByTheClock(_ clock: TimerServiceClock) async throws {
        let start = clock.now
        var count = 0
        for await instant in AsyncTimerSequence(interval: .milliseconds(20), clock: clock) {
            count += 1
            check(start.duration(to: instant) >= .milliseconds(20) * count, "the clock was early")
            if count == 5 { break }
        }
        print("AsyncTimerSequence on the service's clock: \(count) instants, none early")
    }

    /// Ticks are an asynchronous sequence like any other.
    private static func mergeTicks(of service: TimerService) async throws {
        let fast = PreciseTimer.ticks(.every(.milliseconds(10)), on: service).map { tick in ("fast", tick) }
        let slow = PreciseTimer.ticks(.every(.milliseconds(25)), on: service).map { tick in ("slow", tick) }
        let ledgers = ["fast": Ledger(), "slow": Ledger()]
        for try await (name, tick) in merge(fast, slow) {
            ledgers[name]?.note(tick)
            if name == "slow", tick.index >= 3 { break }
        }
        print("two sequences of ticks, merged:", ledgers.map { "\($1.deadlines) \($0)" }.sorted())
    }
}
