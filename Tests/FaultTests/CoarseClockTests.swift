#if RunLoop
import PreciseTimer
import TestSupport
import Testing

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
