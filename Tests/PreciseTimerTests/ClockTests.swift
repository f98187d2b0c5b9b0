import PreciseTimer
import TestSupport
import Testing

/// Timers on every clock that a backend can wait on.
@Suite(.timeLimit(.minutes(60))) struct ClockTests {
    typealias Backend = TimerService.Backend

    private static let pairs = Backend.available.flatMap { backend in
        TimerClock.allCases.filter(backend.clocks.contains).map { (backend, $0) }
    }

    @Test(arguments: pairs)
    func ticksAreOnTheGridOfTheirClockAndNeverEarly(backend: Backend, clock: TimerClock) throws {
        let (service, log, early) = (try TimerService(backend, clock: clock), Log(), Notes<UInt64>())
        let start = service.now.advanced(by: .milliseconds(2))
        let timer = try PreciseTimer.schedule(.every(.milliseconds(2), at: start), on: service, target: log) {
            if clock.now < $1.deadline { early.append($1.index) }
            $0.note($1)
        }
        #expect(eventually { log.count >= 50 })
        timer.cancel()
        #expect(early.all == [])
        #expect(log.ticks.flaw(from: start, every: .milliseconds(2)) == nil)
    }

    @Test(arguments: pairs)
    func delaysAreCountedOnTheClockOfTheService(backend: Backend, clock: TimerClock) throws {
        let (service, log) = (try TimerService(backend, clock: clock), Log())
        let before = service.now
        #expect(before.clock == clock)
        try PreciseTimer.schedule(.once(after: .milliseconds(3)), on: service, target: log) { $0.note($1) }
        #expect(eventually { log.count == 1 })
        let tick = try #require(log.ticks.first)
        #expect(tick.deadline >= before.advanced(by: .milliseconds(3)))
        #expect([tick.deadline, tick.woke, tick.delivered].allSatisfy { $0.clock == clock })
    }

    @Test(arguments: pairs)
    func anInstantOfAnotherClockIsRefused(backend: Backend, clock: TimerClock) throws {
        let (service, log) = (try TimerService(backend, clock: clock), Log())
        for other in TimerClock.allCases where other != clock {
            let error = #expect(throws: TimerError.self) {
                try PreciseTimer.schedule(.once(at: other.now), on: service, target: log) { $0.note($1) }
            }
            #expect(error?.code == .invalidSchedule)
        }
        #expect(service.activeTimers == [])
    }

    @Test func aServiceKeepsItsClockAfterItsShutdown() throws {
        let service = try TimerService(.timerFD, clock: .wall)
        service.shutdown()
        #expect(service.now.clock == .wall)
    }
}
