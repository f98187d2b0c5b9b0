import PreciseTimer
import TestSupport
import Testing

/// The memory cost of a tick, in a release build. A debug build allocates, because it notes a warning
/// for each handler.
@Suite(.timeLimit(.minutes(60))) struct AllocationTests {
    #if DEBUG
    private static let isReleaseBuild = false
    #else
    private static let isReleaseBuild = true
    #endif

    @Test(
        .enabled(if: isReleaseBuild, "a debug build allocates"),
        .enabled(if: Tools.canRefuse, Tools.noCompiler),
        arguments: [TimerService.Backend.timerFD, .hybrid],
        [[], ["statistics"]]
    )
    func inlineTicksAllocateNothing(backend: TimerService.Backend, steps: [String]) async throws {
        // All ticks come on one thread, whose allocations are counted.
        let run = try await Probe.run(backend, ["service"] + steps + ["no-allocations=50000"], under: .preload())
        #expect(run.report?.step("no-allocations")?.isMet == true, "\(run)")
    }
}
