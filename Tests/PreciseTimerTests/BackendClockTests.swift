import PreciseTimer
import Testing

/// The clocks that a backend can wait on, and the errors for other clocks.
struct BackendClockTests {
    typealias Backend = TimerService.Backend

    @Test(arguments: Backend.allCases, TimerClock.allCases)
    func aClockIsSupportedOrRefusedWithTheNamesOfAbleBackends(backend: Backend, clock: TimerClock) throws {
        guard backend.availability == .available else { return }
        guard !backend.clocks.contains(clock) else {
            let service = try TimerService(backend, clock: clock)
            #expect(service.now.clock == clock)
            return
        }
        let error = #expect(throws: TimerError.self) { try TimerService(backend, clock: clock) }
        #expect(error?.code == .unavailable)
        let words = error?.attempted.split { !$0.isLetter }.map(String.init) ?? []
        #expect(words.contains(clock.rawValue))
        let able = Backend.allCases.filter { $0.clocks.contains(clock) }
        let named = Backend.allCases.filter { words.contains($0.rawValue) }
        #expect(Set(named) == Set(able + [backend]))
    }

    @Test func everyBackendSupportsTheMonotonicClockAndTimerFDAndLibeventSupportAll() {
        for backend in Backend.allCases { #expect(backend.clocks.contains(.suspending)) }
        #expect(Backend.timerFD.clocks == Set(TimerClock.allCases))
        #expect(Backend.libevent.clocks == Set(TimerClock.allCases))
        #expect(Backend.dispatch.clocks == [.suspending, .wall])
        #expect(Backend.runLoop.clocks == [.suspending])
    }

    @Test func wallTimeCountsFrom1970AndOtherClocksFromTheBoot() {
        // The year 2020, and 100 years of uptime.
        #expect(TimerClock.wall.now.nanoseconds > 1_577_836_800_000_000_000)
        #expect(TimerClock.suspending.now.nanoseconds < 3_155_760_000_000_000_000)
        #expect(TimerClock.suspending.now.nanoseconds <= TimerClock.continuous.now.nanoseconds)
    }
}
