import PreciseTimer
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

/// A wall clock past the last instant that Dispatch can wait for: in 2116. It would take each later one for past.
@Suite(.waits("timers on a wall clock that is set"), .timeLimit(.minutes(60))) struct LateWallClockTests {
    @Test func dispatchCanWaitUntilItsLastInstantHasCome() {
        let last = DispatchAlarm.last
        for clock in DispatchAlarm.clocks {
            let errors = [0, last - 1, last, UInt64.max]
                .map { DispatchAlarm.error(.unavailable, at: TimerInstant(nanoseconds: $0, clock: clock))?.code }
            #expect(errors == [nil, nil, .unavailable, .unavailable])
        }
    }

    /// A hundred years from now on.
    private static let late = "arm=wall_clock:0:0:1"

    @Test(.canRefuse) func aServiceDoesNotStartThere() async throws {
        let steps = [Self.late, "service", "rest=0.3"]
        let run = try await Probe.run(.dispatch, steps, on: .wall, under: .preload())
        #expect(run.report?.steps.map { $0.refusal?.code } == [nil, "unavailable", nil] && run.isIdle, "\(run)")
        #expect(run.refusals.first?.text.contains("2116") == true, "\(run.refusals)")
    }

    @Test(.canRefuse) func aRunningServiceFailsAndDoesNotSpin() async throws {
        let steps = ["schedule=2x10000", "ticks=5", Self.late, "ends=10", "rest=0.3"]
        let run = try await Probe.run(.dispatch, steps, on: .wall, under: .preload())
        let timers = run.report?.timers ?? []
        #expect(timers.map(\.ends) == [["backend failed"], ["backend failed"]] && run.isIdle, "\(run)")
        for timer in timers {
            #expect(timer.flaw == nil && timer.failures.first?.contains("2116") == true, "\(timer.failures)")
        }
    }
}
