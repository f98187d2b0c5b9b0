import PreciseTimer
import Synchronization
import TestSupport
import Testing

/// Races between callers and deliveries, on every backend. The sanitizers run them, too.
@Suite(.works("threads race"), .timeLimit(.minutes(60))) struct RaceTests {
    typealias Backend = TimerService.Backend

    /// On each of some threads.
    private static let rounds = Effort.of(250, thorough: 1_000)

    @Test(arguments: Backend.available)
    func concurrentSchedulingAndCancellingLosesNoTimerAndNoCancel(backend: Backend) async throws {
        let service = try TimerService(backend)
        let tally = Tally()
        try await onThreads(4) { thread in
            for round in 0..<Self.rounds {
                scheduleThree(on: service, tally, delay: .microseconds((round * 7 + thread) % 90))
            }
        }
        #expect(await soon { service.pendingCount == 0 })
        #expect(tally.refusals.load(ordering: .relaxed) == 0)
        #expect(tally.kept.load(ordering: .relaxed) == 4 * Self.rounds, "each timer that was left alone ticked once")
        // The cancel itself has ended the timer; its handler counts this a moment later.
        #expect(await soon { tally.selfCancelled.load(ordering: .relaxed) == 4 * Self.rounds })
        #expect(tally.ticksAfterCancel.load(ordering: .relaxed) == 0, "no tick after a cancel in the handler")
        // These timers were cancelled at once by their own thread. If the cancel did not end a timer, its only tick
        // had ended it.
        #expect(tally.raced.load(ordering: .relaxed) >= tally.completed.load(ordering: .relaxed))
    }

    @Test(arguments: Backend.available)
    func targetsReleasedOnAnotherThreadAreNeitherLeakedNorCalledAgain(backend: Backend) async throws {
        let service = try TimerService(backend)
        let census = Census()
        try await onThreads(2) { thread in
            // A window of live targets. The oldest is released while the service ticks.
            var alive: [Target] = []
            for number in 0..<5 * Self.rounds {
                let target = Target(number * 2 + thread, census)
                let delay = Duration.microseconds(number * 37 % 1_000)
                _ = try? PreciseTimer.schedule(.every(.milliseconds(1), after: delay), on: service, target: target) {
                    target,
                    _ in target.tick()
                }
                alive.append(target)
                if alive.count == 50 { alive.removeFirst() }
                if number % 10 == 0 { pause(.microseconds(100)) }
            }
            withExtendedLifetime(alive) { _ = eventually { census.ticks.load(ordering: .relaxed) > 0 } }
        }
        #expect(await soon { service.pendingCount == 0 }, "each timer ended with its target")
        #expect(census.born.load(ordering: .relaxed) == 10 * Self.rounds)
        #expect(await soon { census.died.load(ordering: .relaxed) == 10 * Self.rounds })
        #expect(census.ticks.load(ordering: .relaxed) > 0)
        #expect(census.ticksOfTheDead.load(ordering: .relaxed) == 0)
    }

    @Test(arguments: Backend.available)
    func exactlyOneOfManyCancelsEndsATimer(backend: Backend) async throws {
        let service = try TimerService(backend)
        let log = Log()
        let timers = try (0..<1_000)
            .map { number in
                try PreciseTimer.schedule(.every(.microseconds(500 + number)), on: service, target: log) { $0.note($1) }
            }
        let counter = Counter()
        try await onThreads(16) { thread in
            for number in 0..<2_000 where timers[(number + thread * 61) % 1_000].cancel() { counter.add(1) }
        }
        let ticks = log.count
        pause(.milliseconds(5))
        #expect(log.count <= ticks + 1, "at most the handler that was already running")
        #expect(counter.value == 1_000)
        #expect(service.pendingCount == 0)
    }

    @Test(arguments: Backend.available)
    func handlesDroppedDuringDeliveryEndTheirTimers(backend: Backend) async throws {
        let service = try TimerService(backend)
        let ticks = Counter()
        try await onThreads(4) { _ in
            for number in 0..<Self.rounds / 2 {
                let own = Counter()
                var timer = try? PreciseTimer.schedule(.every(.microseconds(50), after: .zero), on: service) { _, _ in
                    own.add(1)
                    ticks.add(1)
                }
                // A debug build would report a handle that is dropped before its first tick.
                while own.value == 0 { pause(.microseconds(20)) }
                if number % 4 == 0 { pause(.microseconds(60)) }
                if timer != nil { timer = nil }
            }
        }
        // The delivery may have held the last reference.
        #expect(await soon { service.pendingCount == 0 })
        let count = ticks.value
        pause(.milliseconds(5))
        #expect(ticks.value == count)
        #expect(count >= 2 * Self.rounds)
    }

    @Test(arguments: Backend.available)
    func aShutdownDuringSchedulingDoesNotTrap(backend: Backend) async throws {
        let counter = Counter()
        for _ in 0..<20 {
            let service = try TimerService(backend)
            let log = Log()
            try await onThreads(4) { thread in
                for number in 0..<50 {
                    if thread == 0, number == 25 { service.shutdown() }
                    let timer = try? PreciseTimer.schedule(.every(.microseconds(20)), on: service, target: log) {
                        $0.note($1)
                    }
                    if timer == nil { counter.add(1) }
                }
            }
            #expect(service.pendingCount == 0)
        }
        #expect(counter.value >= 20 * 25, "schedules after a shutdown are refused")
    }

    /// One timer that is left alone, one that cancels itself, and one that is cancelled at once.
    private func scheduleThree(on service: TimerService, _ tally: Tally, delay: Duration) {
        do {
            try PreciseTimer.schedule(.once(after: delay), on: service, target: tally) { tally, _ in
                tally.kept.add(1, ordering: .relaxed)
            }
            let itself = SelfCancelling()
            itself.timer.value = try PreciseTimer.schedule(
                .every(.microseconds(10), after: delay),
                on: service,
                target: tally
            ) { tally, _ in itself.tick(tally) }
            let raced = try PreciseTimer.schedule(.once(after: delay), on: service, target: tally) { tally, _ in
                tally.raced.add(1, ordering: .relaxed)
            }
            if !raced.cancel() { tally.completed.add(1, ordering: .relaxed) }
        } catch {
            tally.refusals.add(1, ordering: .relaxed)
        }
    }
}

/// Counts how the timers ended.
private final class Tally: Sendable {
    let kept = Atomic(0)
    let selfCancelled = Atomic(0)
    let raced = Atomic(0)
    let ticksAfterCancel = Atomic(0)
    let completed = Atomic(0)
    let refusals = Atomic(0)
}

/// Cancels its own timer in the first tick that knows it, and counts later ticks.
private final class SelfCancelling: Sendable {
    let timer = Box<PreciseTimer>()
    private let hasCancelled = Atomic(false)

    func tick(_ tally: Tally) {
        if hasCancelled.load(ordering: .sequentiallyConsistent) { tally.ticksAfterCancel.add(1, ordering: .relaxed) }
        guard let timer = timer.value else { return }
        self.timer.value = nil
        if timer.cancel() { tally.selfCancelled.add(1, ordering: .relaxed) }
        hasCancelled.store(true, ordering: .sequentiallyConsistent)
    }
}

/// A number that any thread may add to.
private final class Counter: Sendable {
    private let number = Atomic(0)

    var value: Int { number.load(ordering: .relaxed) }

    func add(_ difference: Int) { number.add(difference, ordering: .relaxed) }
}

/// The number of targets that were created, released, and called after their release.
private final class Census: Sendable {
    let born = Atomic(0)
    let died = Atomic(0)
    let ticks = Atomic(0)
    let ticksOfTheDead = Atomic(0)
}

/// A target that records its deinit.
private final class Target: Sendable {
    private let census: Census
    private let isGone = Atomic(false)

    init(_ number: Int, _ census: Census) {
        self.census = census
        census.born.add(1, ordering: .relaxed)
    }

    deinit {
        isGone.store(true, ordering: .sequentiallyConsistent)
        census.died.add(1, ordering: .relaxed)
    }

    func tick() {
        census.ticks.add(1, ordering: .relaxed)
        if isGone.load(ordering: .sequentiallyConsistent) { census.ticksOfTheDead.add(1, ordering: .relaxed) }
    }
}
