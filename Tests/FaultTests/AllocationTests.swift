import PreciseTimer
import TestSupport
import Testing

/// What a tick costs in memory, in a release build: a debug build notes for each handler what it has to say if that asks for
/// the main actor elsewhere.
@Suite(.timeLimit(.minutes(10))) struct AllocationTests {
    #if DEBUG
    private static let isReleaseBuild = false
    #else
    private static let isReleaseBuild = true
    #endif

    @Test(
        .enabled(if: isReleaseBuild, "a debug build allocates"),
        .enabled(if: Tools.canRefuse, Tools.noCompiler)
    )
    func inlineTicksAllocateNothing() async throws {
        // All on one thread, whose allocations are counted.
        let run = try await Probe.run(.timerFD, ["service", "no-allocations=50000"], under: .preload())
        #expect(run.report?.step("no-allocations")?.isMet == true, "\(run)")
    }
}
