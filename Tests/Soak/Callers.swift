import PreciseTimer
import PreciseTimerPatterns
import TestSupport
import TimerKernel

/// Tasks that use what is made of timers: sequences, time-outs, and handlers that await. Each must end, and leave
/// nothing behind.
///
/// The leak checker does not see an object that has had weak references (see `.ci/run`), as each target has. So
/// what the library keeps for a call holds a meter, which is counted.
struct Callers {
    let services: Services
    let tally: Tally
    let stop: Gate

    /// A target, a value, or what a handler holds.
    private final class Meter: Sendable {
        let answers = Count()
        private let life: Life

        init(_ tally: Tally) { life = Life(tally.targets) }
    }

    private struct Broken: Error {}

    /// Runs until told to stop.
    func run(_ number: Int, seed: UInt64) async {
        var random = SeededGenerator(seed: seed &+ UInt64(number))
        while !stop.isPassable {
            do {
                let isOwn = roll(2_000, &random) == 0
                let service = try isOwn ? services.another(&random) : services.random(&random)
                switch number % 4 {
                case 0: try await timeOut(service, &random)
                case 1: try await awaitingHandler(service, &random)
                default: try await consume(service, &random)
                }
            } catch is TimeoutError {
            } catch let error as TimerError where error.code == .shutDown {
                // Another thread ended the service meanwhile.
            } catch is CancellationError {
            } catch {
                tally.violate("a call that makes sense succeeds", "\(number % 4): \(error)")
            }
            tally.calls.add(1)
        }
    }

    private func timeOut(_ service: TimerService, _ random: inout SeededGenerator) async throws {
        let (meter, length) = (Meter(tally), Duration.milliseconds(roll(20, &random)))
        _ = try await withTimeout(.milliseconds(roll(20, &random)), on: service) {
            try await Task.sleep(for: length)
            return meter
        }
    }

    private func awaitingHandler(_ service: TimerService, _ random: inout SeededGenerator) async throws {
        let (meter, held) = (Meter(tally), Meter(tally))
        let timer = try PreciseTimer.schedule(
            .every(.milliseconds(2)),
            on: service,
            target: meter,
            onError: { _, _ in },
            handler: { meter, tick in
                defer { withExtendedLifetime(held) { _ = meter.answers.add(1) } }
                try await Task.sleep(for: .milliseconds(1))
                if tick.index % 3 == 0 { throw Broken() }
            }
        )
        try await Task.sleep(for: .milliseconds(roll(20, &random)))
        await timer.cancelAndWait()
    }

    /// Takes ticks from a sequence, until there are enough or the task is cancelled.
    private func consume(_ service: TimerService, _ random: inout SeededGenerator) async throws {
        let timing = Timing(now: service.now, policy: Timing.randomPolicy(&random), &random)
        let subject = Subject("consumer", timing, isPaused: false, tally)
        let ticks = PreciseTimer.ticks(timing.schedule, on: service, missedTicks: timing.policy)
        let count = Int.random(in: 1...20, using: &random)
        let task = Task {
            var taken = 0
            for try await tick in ticks {
                subject.begin(tick)
                // For a consumer, a fixed delay counts from the moment the tick was taken.
                subject.end(tick, delayCountsFrom: tick.delivered)
                taken += 1
                if taken == count || stop.isPassable { break }
            }
        }
        try await Task.sleep(for: .milliseconds(roll(3_000, &random)))
        task.cancel()
        try await task.value
    }

    private func roll(_ sides: Int, _ random: inout SeededGenerator) -> Int { .random(in: 0..<sides, using: &random) }
}
