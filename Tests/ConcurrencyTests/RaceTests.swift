// Races between callers and deliveries, and what the other races share.
import Dispatch
import PreciseTimer
import Synchronization
import TestSupport
import Testing

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

/// Races between control and delivery, on every kind of delivery. The sanitizers run them, too.
@Suite(.works("threads race"), .timeLimit(.minutes(60))) struct DeliveryRaceTests {
    /// On each of four threads.
    private static let rounds = Effort.of(500, thorough: 2_500)

    @Test(arguments: DeliveryKind.allCases)
    func controlFromFourThreadsNeitherOverlapsHandlersNorLosesTicks(kind: DeliveryKind) async throws {
        let (place, service, census) = (Place(kind), try TimerService(.usual), Census())
        let start = service.now.advanced(by: .microseconds(50))
        let schedule = PreciseTimer.Schedule.every(.microseconds(50), at: start)
        let timer = try place.schedule(schedule, on: service, target: census, handler: census.note)
        try await race(4, Self.rounds) { number, _ in
            switch number {
            case 0: timer.pause(keeping: .grid)
            case 1: timer.resume()
            case 2: timer.fire()
            default: pause(.microseconds(20))
            }
        }
        timer.resume()
        let before = census.log.count
        #expect(await soon { census.log.count > before + 3 }, "the timer still ticks")
        await timer.cancelAndWait()
        #expect(census.wrong.value == 0)
        let ticks = census.log.ticks
        // Each tick on the grid continues at the deadline where the previous one ended. An extra tick's deadline is not
        // on the grid, except by a chance of one in fifty thousand.
        let grid = ticks.filter { start.duration(to: $0.deadline) == .microseconds(50) * Int($0.index) }
        #expect(grid.flaw(from: start, every: .microseconds(50)) == nil)
        #expect(ticks.count > grid.count, "some ticks were extra ticks")
    }
}

/// Control of timers whose deadlines are computed meets their deliveries, and the watch of the clock begins and ends.
@Suite(.works("threads race"), .timeLimit(.minutes(60))) struct ComputedRaceTests {
    private typealias Schedule = PreciseTimer.Schedule

    private static let rounds = Effort.of(2_000, thorough: 10_000)

    private static func inSteps(of step: Duration) -> Schedule { .computed { $0.advanced(by: step) } }

    @Test(arguments: [TimerClock.suspending, .wall])
    func computedTimersKeepTheirPromisesWhileThreadsControlThem(clock: TimerClock) async throws {
        let backend = TimerService.Backend.available.first { $0.clocks.contains(clock) }
        let service = try TimerService(try #require(backend), clock: clock)
        let (log, ends) = (Log(), Count())
        let timers = try (0..<4)
            .map { _ in
                try PreciseTimer.schedule(
                    Self.inSteps(of: .microseconds(100)),
                    on: service,
                    target: log,
                    onEnd: { _ in ends.add(1) },
                    handler: { $0.note($1) }
                )
            }
        // Nothing disturbs this one, so each of its deadlines has a tick or is missed. On the wall clock, it would keep
        // the watch.
        let (still, step) = (Log(), UInt64(200_000))
        let grid = Schedule.computed { TimerInstant(nanoseconds: ($0.nanoseconds / step + 1) * step, clock: $0.clock) }
        let others = try (clock == .wall ? [] : [grid])
            .map { grid in
                try PreciseTimer.schedule(grid, on: service, deliver: .queue(.global()), target: still) { $0.note($1) }
            }
        #expect(await soon { log.count > 0 })
        try await race(4, Self.rounds) { thread, round in
            let timer = timers[(thread + round) % timers.count]
            switch (round * 7 + thread) % 6 {
            case 0: try? timer.reschedule(Self.inSteps(of: .microseconds(50)))
            case 1: try? timer.reschedule(.every(.microseconds(100)))
            case 2: timer.fire()
            case 3: timer.pause(keeping: .grid)
            case 4: timer.resume()
            default:
                // The only one of its kind: the watch of the clock may begin and end with it.
                let schedule = Self.inSteps(of: .microseconds(20))
                (try? PreciseTimer.schedule(schedule, on: service, target: log) { $0.note($1) })?.cancel()
            }
        }
        #expect(await soon { still.count >= 200 * others.count })
        for timer in timers + others { await timer.cancelAndWait() }
        #expect(log.ticks.allSatisfy { $0.lateness >= .zero })
        #expect([ends.value, service.pendingCount] == [timers.count, 0])
        let lost = zip(still.ticks, still.ticks.dropFirst())
            .filter { former, next in
                next.index != former.index + 1 + former.missed
                    || next.deadline.nanoseconds != former.deadline.nanoseconds + UInt64(former.missed + 1) * step
            }
        #expect(lost.count == 0)
    }
}
