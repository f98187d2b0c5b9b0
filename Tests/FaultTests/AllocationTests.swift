import PreciseTimer
import TestSupport
import Testing

/// What a tick costs in memory.
@Suite(.timeLimit(.minutes(10))) struct AllocationTests {
    @Test(.enabled(if: Tools.canRefuse, Tools.noCompiler), arguments: [TimerService.Backend.timerFD])
    func inlineTicksAllocateNothing(backend: TimerService.Backend) async throws {
        let run = try await Probe.run(backend, ["service", "no-allocations=50000"], under: .preload())
        #expect(run.report?.step("no-allocations")?.isMet == true, "\(run)")
    }
}
