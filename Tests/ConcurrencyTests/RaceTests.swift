// Races between callers and deliveries, on every backend, and what the other races share.
import PreciseTimer
import Synchronization
import TestSupport
import Testing

/// The sanitizers run these, too.
@Suite(.works("threads race"), .timeLimit(.minutes(60))) struct RaceTests {
    typealias Backend = TimerService.Backend

    /// On each of some threads.
    private static let rounds = Effort.of(250, thorough: 1_000)

    @Test(arguments: Backend.available)
    func concurrentSchedulingAndCancellingLosesNoTimerAndNoCancel(backend: Backend) async throws {
        let (service, outcome) = (try TimerService(backend), Outcome())
        try await race(4, Self.rounds) { thread, round in
            do {
                try scheduleThree(on: service, outcome, delay: .microseconds((round * 7 + thread) % 90))
            } catch { outcome.refusals.add(1) }
        }
        #expect(await soon { service.pendingCount == 0 })
        // The cancel itself has ended the timer; its handler counts this a moment later.
        let all = 4 * Self.rounds
        #expect(await soon { outcome.selfCancelled.value == all })
        #expect(outcome.kept.value == all, "each timer that was left alone ticked once")
        #expect([outcome.refusals.value, outcome.ticksAfterCancel.value] == [0, 0])
        // These timers were cancelled at once by their own thread. If the cancel did not end a timer, its only tick
        // had ended it.
        #expect(outcome.raced.value >= outcome.completed.value)
    }

    private final class Outcome: Sendable {
        let (kept, selfCancelled, raced) = (Tally(), Tally(), Tally())
        let (ticksAfterCancel, completed, refusals) = (Tally(), Tally(), Tally())
    }

    /// One timer that is left alone, one that cancels itself, and one that is cancelled at once.
    private func scheduleThree(on service: TimerService, _ outcome: Outcome, delay: Duration) throws {
        try PreciseTimer.schedule(.once(after: delay), on: service, target: outcome) { outcome, _ in outcome.kept.add(1)
        }
        let (itself, hasCancelled) = (Box<PreciseTimer>(), Tally())
        // Cancels its own timer in the first tick that knows it.
        itself.value = try PreciseTimer.schedule(
            .every(.microseconds(10), after: delay),
            on: service,
            target: outcome
        ) { outcome, _ in
            if hasCancelled.value > 0 { outcome.ticksAfterCancel.add(1) }
            guard let timer = itself.value else { return }
            itself.value = nil
            if timer.cancel() { outcome.selfCancelled.add(1) }
            hasCancelled.add(1)
        }
        let raced = try PreciseTimer.schedule(.once(after: delay), on: service, target: outcome) { outcome, _ in
            outcome.raced.add(1)
        }
        if !raced.cancel() { outcome.completed.add(1) }
    }

    @Test(arguments: Backend.available)
    func exactlyOneOfManyCancelsEndsATimer(backend: Backend) async throws {
        let (service, log, cancels) = (try TimerService(backend), Log(), Tally())
        let timers = try (0..<1_000)
            .map { number in
                try PreciseTimer.schedule(.every(.microseconds(500 + number)), on: service, target: log) { $0.note($1) }
            }
        try await race(16, 2_000) { thread, number in
            if timers[(number + thread * 61) % 1_000].cancel() { cancels.add(1) }
        }
        let ticks = log.count
        pause(.milliseconds(5))
        #expect(log.count <= ticks + 1, "at most the handler that was already running")
        #expect([cancels.value, service.pendingCount] == [1_000, 0])
    }
}

/// Runs a body some times on each of some threads, with the numbers of the thread and the round.
func race(_ threads: Int, _ rounds: Int, _ body: @escaping @Sendable (Int, Int) -> Void) async throws {
    try await onThreads(threads) { thread in for round in 0..<rounds { body(thread, round) } }
}

/// A number that any thread may add to. It orders no memory, so that it hides no race from the thread sanitizer.
final class Tally: Sendable {
    private let number = Atomic(0)

    var value: Int { number.load(ordering: .relaxed) }

    func add(_ difference: Int) { number.add(difference, ordering: .relaxed) }
}

/// What happened to timers, and to their targets or to what their handlers capture.
final class Census: Sendable {
    let (cancels, ends, deaths, ticks) = (Count(), Count(), Count(), Count())
    let (running, wrong, log) = (Count(), Count(), Log())

    /// An object whose release is counted.
    var mortal: Thing { Thing { [deaths] in deaths.add(1) } }

    /// Notes a tick, and whether another handler runs meanwhile.
    func note(_ tick: PreciseTimer.Tick) {
        if running.add(1) > 1 { wrong.add(1) }
        log.note(tick)
        running.add(-1)
    }
}

/// An actor as a target, and what it holds.
actor Meter {
    var ticks = 0
    private let thing: Thing?

    init(_ thing: Thing? = nil) { self.thing = thing }
}
