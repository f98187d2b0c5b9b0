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

#if RunLoop
/// A kernel without high-resolution timers: the clock's resolution is a tick of the kernel, here 4 ms.
@Suite(.waits("timers of the kernel"), .timeLimit(.minutes(60))) struct CoarseClockTests {
    private func run(_ backend: Backend, _ steps: [String], isCoarse: Bool = true) async throws -> Probe.Run {
        var means = try Probe.Means.preload()
        if isCoarse { means.environment["FAULT_RESOLUTION"] = "4000000" }
        return try await Probe.run(backend, steps, under: means)
    }

    /// Foundation takes the resolution for the length of its unit of time, so its own timers stand still, as the first
    /// step shows. It asks for the resolution when it is loaded.
    @Test(.canRefuse) func aRunLoopRefusesToStartSinceFoundationsTimersStandStill() async throws {
        let run = try await run(.runLoop, ["foundation-timer", "service", "host-loop"])
        let steps = try #require(run.report?.steps)
        #expect(steps.map { $0.refusal?.code } == [nil, "unavailable", "unavailable"], "\(run)")
        #expect(steps.first?.isMet == false && steps.dropFirst().allSatisfy { $0.seconds < 1 }, "\(run)")
        for refusal in run.refusals {
            #expect(["4 ms", "highres=on", "timerfd"].filter { !refusal.text.contains($0) } == [], "\(refusal.text)")
        }
    }

    @Test(.canRefuse) func aRunLoopStartsOnAnOrdinaryKernel() async throws {
        let steps = ["foundation-timer", "host-loop", "schedule=1x5000", "ticks=5"]
        let run = try await run(.runLoop, steps, isCoarse: false)
        #expect(run.refusals.isEmpty && run.report?.steps.map(\.isMet) == steps.map { _ in true }, "\(run)")
    }

    @Test(.canRefuse, arguments: Backend.available.filter { $0 != .runLoop })
    func theOtherBackendsDoNotMindTheResolution(backend: Backend) async throws {
        let run = try await run(backend, ["schedule=1x5000", "ticks=5"])
        #expect(run.trouble(ticks: 5) == nil && run.worksInTheEnd, "\(run)")
    }
}
#endif
