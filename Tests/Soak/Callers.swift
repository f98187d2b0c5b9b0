import PreciseTimer
import PreciseTimerPatterns
import TestSupport
import TimerKernel

/// Tasks that use what is made of timers: sequences, time-outs, retries, idle time-outs, triggers, and handlers that
/// await. Each must end, and leave nothing behind.
///
/// The leak checker does not see an object that has had weak references (see `.ci/run`), as each target has. So
/// what the library keeps for a call holds a meter, which is counted.
struct Callers {
    let services: Services
    let tally: Tally
    let stop: Gate

    /// A target, a value, or what a key or a handler holds.
    private final class Meter: Sendable {
        let answers = Count()
        private let life: Life

        init(_ tally: Tally) { life = Life(tally.targets) }
    }

    private struct Key: Hashable, Sendable {
        let number: Int
        let meter: Meter

        static func == (left: Key, right: Key) -> Bool { left.number == right.number }
        func hash(into hasher: inout Hasher) { hasher.combine(number) }
    }

    private struct Broken: Error {}

    /// Runs until told to stop.
    func run(_ number: Int, seed: UInt64) async {
        var random = SeededGenerator(seed: seed &+ UInt64(number))
        while !stop.isPassable {
            do {
                let isOwn = roll(2_000, &random) == 0
                let service = try isOwn ? services.another(&random) : services.random(&random)
                switch number % 12 {
                case 0: try await timeOut(service, &random)
                case 1: try await retry(service, &random)
                case 2: try await idle(service, &random)
                case 3: try await trigger(service, &random)
                case 4: try await plainHandler(service, &random)
                case 5: try await mainActorHandler(service, &random)
                default: try await consume(service, &random)
                }
            } catch is TimeoutError {
            } catch is Broken {
            } catch let error as TimerError where error.code == .shutDown {
                // Another thread ended the service meanwhile.
            } catch is CancellationError {
            } catch {
                tally.violate("a call that makes sense succeeds", "\(number % 12): \(error)")
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

    private func retry(_ service: TimerService, _ random: inout SeededGenerator) async throws {
        let (meter, failures) = (Meter(tally), roll(5, &random))
        let backoff = PreciseTimer.Backoff.exponential(from: .milliseconds(1), upTo: .milliseconds(3))
        try await withRetry(attempts: 4, backoff: backoff, on: service) { attempt in
            meter.answers.add(1)
            if attempt <= failures { throw Broken() }
        }
    }

    private func idle(_ service: TimerService, _ random: inout SeededGenerator) async throws {
        let meter = Meter(tally)
        let keys = (0..<8).map { Key(number: $0, meter: meter) }
        let timeouts = IdleTimeouts<Key>(on: service, target: meter) { meter, _ in meter.answers.add(1) }
        for key in keys { timeouts.refresh(key, after: .milliseconds(roll(10, &random))) }
        try await Task.sleep(for: .milliseconds(roll(15, &random)))
        for key in keys { timeouts.cancel(key) }
    }

    private func trigger(_ service: TimerService, _ random: inout SeededGenerator) async throws {
        let (meter, held) = (Meter(tally), Meter(tally))
        let arrived = { @Sendable (meter: Meter) in withExtendedLifetime(held) { _ = meter.answers.add(1) } }
        let period = Duration.milliseconds(roll(4, &random))
        let call =
            roll(2, &random) == 0
            ? try Debouncer(period, edge: .both, on: service, target: meter, handler: arrived)
            : try Throttler(period, edge: .both, on: service, target: meter, handler: arrived)
        for _ in 0..<5 {
            call()
            if roll(2, &random) == 0 { try await Task.sleep(for: .milliseconds(1)) }
        }
    }

    private func plainHandler(_ service: TimerService, _ random: inout SeededGenerator) async throws {
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

    private func mainActorHandler(_ service: TimerService, _ random: inout SeededGenerator) async throws {
        let meter = Meter(tally)
        let timer = try PreciseTimer.schedule(.every(.milliseconds(5)), on: service, target: meter) {
            @MainActor meter, _ in
            await Task.yield()
            meter.answers.add(1)
        }
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
