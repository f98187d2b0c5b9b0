import HostSystem
import PreciseTimer
import TestSupport
import Testing
import TimerProbe
import TimerResults

/// The loops that backends are compared with.
struct ReferenceTests {
    @Test func afterAStallEveryTimerIsOnItsGridAgain() {
        let start = TimerInstant(nanoseconds: 1_000_000)
        let probes = [UInt64(0), 300, 700]
            .map { phase in
                Probe(Deadlines(start: start + phase, period: 1000), goal: 20)
            }
        var (now, waits) = (start, 0)
        ReferenceLoop.loop(
            probes,
            StopFlag(),
            waitingBy: { deadline in
                waits += 1
                // The seventh wake-up is late by more than two periods, all others by 10 ns.
                now = max(now, deadline) + (waits == 7 ? 2_400 : 10)
            },
            readingBy: { _ in now }
        )
        let results = probes.map(\.result)
        #expect(results.allSatisfy { $0.problem == nil && $0.accounted == 20 })
        #expect(results.map(\.missed) == [2, 2, 1])
        // The stall made one tick of each timer late.
        #expect(results.map { $0.samples.filter { $0.lateness > 30 }.count } == [1, 1, 1])
    }

    @Test(arguments: Reference.allCases)
    func manyTimersAreAccountedFor(_ reference: Reference) async throws {
        let cell = try await Short.measure([Row(.reference(reference))]) { $0.timers = 7 }[0]
        #expect(UInt64(cell.ticks) + cell.missed >= 140)
        #expect(cell.problem == nil)
    }
}
