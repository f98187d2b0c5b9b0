import AsyncAlgorithms
import PreciseTimer

/// Uses a service's clock with swift-async-algorithms, and merges ticks with another sequence.
@main
enum AsyncSequences {
    static func main() async throws {
        let service = TimerService.default
        try await repeatByTheClock(service.clock)
        try await mergeTicks(of: service)
        // `merge` starts its own tasks, which end soon after the loop is left.
        for _ in 0..<10_000 where !service.activeTimers.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        if !service.activeTimers.isEmpty { fail("a sequence that has ended left a timer behind") }
    }

    /// `AsyncTimerSequence` takes any clock; this one wakes by the service's alarm.
    private static func repeatByTheClock(_ clock: TimerServiceClock) async throws {
        let start = clock.now
        var count = 0
        for await instant in AsyncTimerSequence(interval: .milliseconds(20), clock: clock) {
            count += 1
            if start.duration(to: instant) < .milliseconds(20) * count { fail("the clock was early") }
            if count == 5 { break }
        }
        print("AsyncTimerSequence on the service's clock: \(count) instants, none early")
    }

    /// Ticks are an asynchronous sequence like any other.
    private static func mergeTicks(of service: TimerService) async throws {
        let fast = PreciseTimer.ticks(.every(.milliseconds(10)), on: service).map { tick in ("fast", tick) }
        let slow = PreciseTimer.ticks(.every(.milliseconds(25)), on: service).map { tick in ("slow", tick) }
        var deadlines: [String: UInt64] = [:]
        for try await (name, tick) in merge(fast, slow) {
            if tick.lateness < .zero { fail("a tick was early") }
            if tick.index != deadlines[name, default: 0] { fail("a deadline was neither served nor counted as missed") }
            deadlines[name] = tick.index + 1 + tick.missed
            if deadlines["slow", default: 0] >= 4 { break }
        }
        print("two sequences of ticks, merged: \(deadlines.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" })")
    }

    private static func fail(_ words: String) -> Never { fatalError(words) }
}
