import PreciseTimer
import PreciseTimerPatterns
import TestSupport
import Testing

/// A service that other code shuts down while it is being started, and that can start again.
struct StartRaceTests {
    /// What a test does with the service.
    enum Use: CaseIterable { case timer, ticks, timeOut, idleTimeout }

    @Test(arguments: Use.allCases)
    func itIsStartedAgain(use: Use) async throws {
        let (starts, box, log) = (Count(), Box<TimerService>(), Log())
        let service = TimerService(
            startedOnUse: {
                if starts.add(1) <= 2 { box.value?.shutdownForEveryone() }
                return ManualAlarm()
            }
        )
        box.value = service
        switch use {
        case .timer:
            let timer = try PreciseTimer.schedule(.once(after: .seconds(1)), on: service, target: log) { $0.note($1) }
            #expect(timer.state == .scheduled)
        case .ticks:
            let waiting = Task { for try await _ in PreciseTimer.ticks(.every(.seconds(1)), on: service) {} }
            #expect(await soon { service.activeTimers.count == 1 })
            waiting.cancel()
            try await waiting.value
        case .timeOut: #expect(try await withTimeout(.seconds(1), on: service) { 7 } == 7)
        case .idleTimeout:
            let timeouts = IdleTimeouts<Int>(on: service) { _ in }
            #expect(timeouts.refresh(1, after: .seconds(1)))
        }
        #expect(starts.value == 3)
        box.value = nil
        service.shutdownForEveryone()
    }
}
