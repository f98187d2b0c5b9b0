import Dispatch
import PreciseTimer
import TestSupport
import Testing

/// Races between control and delivery, on every kind of delivery. The sanitizers run them, too.
@Suite(.works("threads race"), .timeLimit(.minutes(60))) struct DeliveryRaceTests {
    /// On each of four threads.
    private static let rounds = Effort.of(500, thorough: 2_500)

    @Test(arguments: DeliveryKind.allCases)
    func afterCancelAndWaitNoHandlerRuns(kind: DeliveryKind) async throws {
        let (place, service, census) = (Place(kind), try TimerService(.usual), Census())
        try await onThreads(4) { number in
            for round in 0..<Self.rounds {
                let isOver = Box<Bool>()
                let delay = Duration.microseconds((round * 7 + number * 13) % 60)
                let timer = try? place.schedule(
                    .every(.microseconds(10), after: delay),
                    on: service,
                    target: census,
                    onEnd: { _ in census.ends.add(1) },
                    handler: { _ in
                        if isOver.value == true { census.late.add(1) }
                        census.ticks.add(1)
                    }
                )
                if round % 3 == 0 { pause(.microseconds(round % 100)) }
                if round % 500 == 499 { census.ticks.awaitChange() }
                timer?.cancelAndWait()
                isOver.value = true
            }
        }
        #expect(service.pendingCount == 0)
        await place.settle()
        #expect(census.ticks.value > 0)
        #expect(census.late.value == 0)
        #expect(await soon { census.ends.value == 4 * Self.rounds })
    }

    @Test(arguments: DeliveryKind.allCases)
    func controlFromFourThreadsNeitherOverlapsHandlersNorLosesTicks(kind: DeliveryKind) async throws {
        let (place, service, census, log) = (Place(kind), try TimerService(.usual), Census(), Log())
        let start = service.now.advanced(by: .microseconds(50))
        let timer = try place.schedule(.every(.microseconds(50), at: start), on: service, target: census) { tick in
            if census.running.add(1) > 1 { census.late.add(1) }
            // An extra tick's deadline is not on the grid, except by a chance of one in fifty thousand.
            log.note(tick)
            census.running.add(-1)
        }
        try await onThreads(4) { number in
            for _ in 0..<Self.rounds {
                switch number {
                case 0: timer.pause(keeping: .grid)
                case 1: timer.resume()
                case 2: timer.fire()
                default: pause(.microseconds(20))
                }
            }
        }
        timer.resume()
        let before = log.count
        #expect(await soon { log.count > before + 3 }, "the timer still ticks")
        await timer.cancelAndWait()
        #expect(census.late.value == 0)
        let ticks = log.ticks
        // Each tick on the grid continues at the deadline where the previous one ended.
        let grid = ticks.filter { start.duration(to: $0.deadline) == .microseconds(50) * Int($0.index) }
        #expect(grid.flaw(from: start, every: .microseconds(50)) == nil)
        #expect(ticks.count > grid.count, "some ticks were extra ticks")
    }

    /// Dispatch frees a replaced value of a queue, even if another thread is reading it.
    @Test func aPlaceIsMadeWhileAnotherOneIsAskedWhereItIs() {
        let (place, isOver) = (Place(.mainActor), Gate())
        // In portions: other tests need the main thread, too.
        @Sendable func ask(_ portions: Int) {
            for _ in 0..<1_000 where !place.isHere { Issue.record("not on the main queue") }
            if portions == 1 { return isOver.open() }
            DispatchQueue.main.async { ask(portions - 1) }
        }
        DispatchQueue.main.async { ask(2_000) }
        while !isOver.isPassable { _ = Place(.mainActor) }
    }

    private final class Census: Sendable {
        let (ticks, late, ends, running) = (Count(), Count(), Count(), Count())
    }
}
