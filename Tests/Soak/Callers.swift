import PreciseTimer
import PreciseTimerPatterns
import TimerKernel

/// Tasks that use what is made of timers: time-outs, retries, idle time-outs, triggers, and handlers that await.
///
/// The leak checker does not see an object that has had weak references (see `.ci/run`), as each target has. So
/// what the library keeps for a call holds a meter, which is counted.
struct Callers {
    let services: Services
    let tally: Tally
    let stop: ServiceFate

    /// A target, a value, or what a key or a handler holds.
    private final class Meter: Sendable {
        let (asked, answered) = (Count(), Count())
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
        var random = SeededGenerator(seed: seed &+ 1_000 &+ UInt64(number))
        while !stop.isShutDown {
            let entry = services.random(&random)
            do {
                switch number % 6 {
                case 0: try await timeOut(entry, &random)
                case 1: try await retry(entry, &random)
                case 2: try await idle(entry, &random)
                case 3: try await trigger(entry, &random)
                case 4: try await plainHandler(entry, &random)
                default: try await mainActorHandler(entry, &random)
                }
            } catch let error as TimerError where error.code == .shutDown {
                // Another thread ended the service meanwhile.
            } catch {
                tally.violate("a call that makes sense succeeds", "\(number % 6): \(error)")
            }
            tally.calls.add(1)
        }
    }

    /// The operation returns its value, or is cancelled at its deadline.
    private func timeOut(_ entry: Services.Entry, _ random: inout SeededGenerator) async throws {
        let (meter, length) = (Meter(tally), roll(20, &random))
        do {
            let value = try await withTimeout(.milliseconds(roll(20, &random)), on: entry.service) {
                try await Task.sleep(for: .milliseconds(length))
                return meter
            }
            if value !== meter { tally.violate("an operation's value is returned", "") }
        } catch let error as TimeoutError {
            let now = entry.service.now
            if now < error.deadline, now.clock != .wall { tally.violate("never early", "\(error) at \(now)") }
        }
    }

    /// The first success is returned, or else the error of the last attempt. A shutdown cuts the pause after it short.
    private func retry(_ entry: Services.Entry, _ random: inout SeededGenerator) async throws {
        let (meter, failures) = (Meter(tally), roll(5, &random))
        do {
            let backoff = PreciseTimer.Backoff.exponential(from: .milliseconds(1), upTo: .milliseconds(3))
            let last = try await withRetry(attempts: 4, backoff: backoff, on: entry.service) { attempt in
                meter.asked.add(1)
                if attempt <= failures { throw Broken() }
                return attempt
            }
            if last != failures + 1 { tally.violate("the first success is returned", "\(last)") }
        } catch is Broken {
            let isComplete = failures >= 4 && meter.asked.value == 4
            if !isComplete, !entry.fate.isShutDown { tally.violate("each attempt is made", "\(meter.asked.value)") }
        }
    }

    /// Each time-out passes or is cancelled.
    private func idle(_ entry: Services.Entry, _ random: inout SeededGenerator) async throws {
        let meter = Meter(tally)
        let keys = (0..<8).map { Key(number: $0, meter: meter) }
        let timeouts = IdleTimeouts<Key>(on: entry.service, target: meter) { meter, _ in meter.answered.add(1) }
        for key in keys where timeouts.refresh(key, after: .milliseconds(roll(10, &random))) { meter.asked.add(1) }
        try await Task.sleep(for: .milliseconds(roll(15, &random)))
        for key in keys where timeouts.cancel(key) { meter.answered.add(1) }
        try await awaitAnswers("each time-out passes or is cancelled", meter, entry)
        if timeouts.count > 0 { tally.violate("a time-out that is over is forgotten", "\(timeouts)") }
    }

    /// The last call of a burst arrives.
    private func trigger(_ entry: Services.Entry, _ random: inout SeededGenerator) async throws {
        let (meter, held) = (Meter(tally), Meter(tally))
        let arrived = { @Sendable (meter: Meter) in
            withExtendedLifetime(held) { meter.answered.set(to: meter.asked.value) }
        }
        let (period, edge) = (Duration.milliseconds(roll(4, &random)), BurstEdge.both)
        let call =
            roll(2, &random) == 0
            ? try Debouncer(period, edge: edge, on: entry.service, target: meter, handler: arrived)
            : try Throttler(period, edge: edge, on: entry.service, target: meter, handler: arrived)
        for _ in 0..<5 {
            meter.asked.add(1)
            call()
            if roll(2, &random) == 0 { try await Task.sleep(for: .milliseconds(1)) }
        }
        try await awaitAnswers("the last call of a burst arrives", meter, entry)
    }

    /// Each call of a handler that awaits and throws returns before the wait for its end does.
    private func plainHandler(_ entry: Services.Entry, _ random: inout SeededGenerator) async throws {
        let (meter, held) = (Meter(tally), Meter(tally))
        let timer = try PreciseTimer.schedule(
            .every(.milliseconds(2)),
            on: entry.service,
            target: meter,
            onError: { _, _ in },
            handler: { meter, tick in
                meter.asked.add(1)
                defer { withExtendedLifetime(held) { meter.answered.add(1) } }
                try await Task.sleep(for: .milliseconds(1))
                if tick.index % 3 == 0 { throw Broken() }
            }
        )
        try await letTick(timer, meter, &random)
    }

    /// The same on the main actor.
    private func mainActorHandler(_ entry: Services.Entry, _ random: inout SeededGenerator) async throws {
        let meter = Meter(tally)
        let timer = try PreciseTimer.schedule(.every(.milliseconds(5)), on: entry.service, target: meter) {
            @MainActor meter, _ in
            meter.asked.add(1)
            await Task.yield()
            meter.answered.add(1)
        }
        try await letTick(timer, meter, &random)
    }

    private func letTick(_ timer: PreciseTimer, _ meter: Meter, _ random: inout SeededGenerator) async throws {
        try await Task.sleep(for: .milliseconds(roll(20, &random)))
        await timer.cancelAndWait()
        if meter.asked.value != meter.answered.value { tally.violate("cancelAndWait waits for the handler", "") }
    }

    /// Waits until a handler has answered, unless its service has ended.
    private func awaitAnswers(_ promise: String, _ meter: Meter, _ entry: Services.Entry) async throws {
        for _ in 0..<3_000 {
            if meter.asked.value == meter.answered.value || entry.fate.isShutDown { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        tally.violate(promise, "\(meter.answered.value) of \(meter.asked.value), \(entry.service)")
    }

    private func roll(_ sides: Int, _ random: inout SeededGenerator) -> Int { .random(in: 0..<sides, using: &random) }
}
