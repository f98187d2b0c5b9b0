import PreciseTimer
import TimerAlarms

/// Tasks that take ticks from asynchronous sequences.
struct Consumers {
    let services: Services
    let tally: Tally
    let stop: ServiceFate

    /// Runs until told to stop; ends when the services have been shut down.
    func run(_ number: Int, seed: UInt64) async {
        var random = SeededGenerator(seed: seed &+ UInt64(number))
        while !stop.isShutDown {
            let entry = services.random(&random)
            let policy = Timing.randomPolicy(&random)
            let count = Int.random(in: 1...20, using: &random)
            let task = Task { [random] in
                var random = random
                await consume(count, entry, policy, &random)
            }
            if Bool.random(using: &random) {
                try? await Task.sleep(for: .milliseconds(Int.random(in: 0..<3_000, using: &random)))
                task.cancel()
            }
            await task.value
        }
    }

    private func consume(
        _ count: Int,
        _ entry: Services.Entry,
        _ policy: PreciseTimer.MissedTickPolicy,
        _ random: inout SeededGenerator
    ) async {
        tally.consumersBegun.add(1)
        defer { tally.consumersEnded.add(1) }
        let timing = Timing(now: entry.service.now, policy: policy, mayEnd: true, &random)
        let subject = Subject("consumer", timing, isPaused: false, fate: entry.fate, tally)
        let ticks = PreciseTimer.ticks(timing.schedule, on: entry.service, missedTicks: policy)
        var taken = 0
        do throws(TimerError) {
            for try await tick in ticks {
                subject.begin(tick)
                // For a consumer, a fixed delay counts from the moment the tick was taken.
                subject.end(tick, delayCountsFrom: tick.delivered)
                taken += 1
                if taken == count || stop.isShutDown { break }
            }
        } catch {
            if error.code != .shutDown { tally.violate("a sequence of ticks ends in order", "\(error)") }
        }
    }
}
