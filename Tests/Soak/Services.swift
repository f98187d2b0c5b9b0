import PreciseTimer
import TestSupport
import TimerKernel

/// The services that the timers use: the shared ones, and own ones that come and go.
final class Services: Sendable {
    struct Entry: Sendable {
        let service: TimerService
        let fate: ServiceFate
        let isShared: Bool
    }

    private let entries: Lock<[Entry]>
    private let tally: Tally

    init(_ tally: Tally) throws(TimerError) {
        self.tally = tally
        var entries = TimerService.Backend.available
            .map { Entry(service: $0.shared, fate: ServiceFate(), isShared: true) }
        for (backend, clock) in Self.choices { entries.append(try Self.make(backend, clock, tally)) }
        self.entries = Lock(entries)
    }

    /// Each backend, on each of its clocks.
    private static var choices: [(TimerService.Backend, TimerClock)] {
        TimerService.Backend.available.flatMap { backend in backend.clocks.map { (backend, $0) } }
    }

    private static func make(
        _ backend: TimerService.Backend,
        _ clock: TimerClock,
        _ tally: Tally
    ) throws(TimerError) -> Entry {
        tally.servicesMade.add(1)
        return Entry(service: try TimerService(backend, clock: clock), fate: ServiceFate(), isShared: false)
    }

    func random(_ random: inout some RandomNumberGenerator) -> Entry {
        let index = Int.random(in: 0..<entries.withLock { $0.count }, using: &random)
        return entries.withLock { $0[index] }
    }

    /// Shuts a service down while timers use it. A new service replaces an own one.
    func renew(_ random: inout some RandomNumberGenerator) throws(TimerError) {
        let count = entries.withLock { $0.count }
        let index = Int.random(in: 0..<count, using: &random)
        let former = entries.withLock { $0[index] }
        if former.isShared {
            // Rarely, because a shared service has a large part of all timers.
            if Int.random(in: 0..<10, using: &random) > 0 { return }
        } else {
            let (backend, clock) = Self.choices[index - (count - Self.choices.count)]
            let new = try Self.make(backend, clock, tally)
            entries.withLock { $0[index] = new }
        }
        former.fate.isShutDown = true
        former.service.shutdownForEveryone()
    }

    /// A service for a few timers, which only the caller knows.
    func transient(_ random: inout some RandomNumberGenerator) throws(TimerError) -> Entry {
        let (backend, clock) = Self.choices[Int.random(in: 0..<Self.choices.count, using: &random)]
        return try Self.make(backend, clock, tally)
    }

    func shutDownAll() {
        for entry in entries.withLock({ $0 }) {
            entry.fate.isShutDown = true
            entry.service.shutdownForEveryone()
        }
    }
}

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
        do {
            for try await tick in ticks {
                subject.begin(tick)
                // For a consumer, a fixed delay counts from the moment the tick was taken.
                subject.end(tick, delayCountsFrom: tick.delivered)
                taken += 1
                if taken == count || stop.isShutDown { break }
            }
        } catch {
            if (error as? TimerError)?.code != .shutDown {
                tally.violate("a sequence of ticks ends in order", "\(error)")
            }
        }
    }
}

/// An object for a handler to capture.
final class Capture: Sendable {
    let subject: Subject
    private let life: Life

    init(_ subject: Subject) { (self.subject, life) = (subject, Life(subject.tally.captures)) }
}

/// An actor as a target.
actor ActorTarget {
    private let life: Life
    private var ticks = 0

    init(_ tally: Tally) { life = Life(tally.targets) }

    func tick() { ticks += 1 }
}
