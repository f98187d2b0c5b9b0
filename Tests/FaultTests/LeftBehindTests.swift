import PreciseTimer
import TestSupport
import Testing

/// Ticks leave no memory behind, in debug and in release builds, on every backend.
@Suite(.works("the process keeps or returns memory"), .timeLimit(.minutes(60))) struct LeftBehindTests {
    // Swift Testing hands values to an exit test since Swift 6.3.
    #if compiler(>=6.3)
    @Test(arguments: TimerService.Backend.available)
    func thirtyThousandTicksLeaveNoMemoryBehind(backend: TimerService.Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            Fault.endIfHung()
            let ticks = Count()
            try PreciseTimer.schedule(.every(.microseconds(20)), on: backend.shared, target: ticks) { ticks, _ in
                ticks.add(1)
            }
            #expect(eventually { ticks.value > 2_000 })
            let (before, start) = (ProcFS.residentBytes, ticks.value)
            #expect(eventually(within: .seconds(150)) { ticks.value > start + 30_000 })
            // 155 bytes per tick, a leak that occurred once, would be more than 4 MB.
            #expect(ProcFS.residentBytes - before < 2_000_000)
            // A chain of that many links would overflow the stack on release.
            backend.shared.shutdownForEveryone()
        }
    }
    #endif
}

/// The memory cost of a tick, in a release build. A debug build allocates, because it notes a warning
/// for each handler.
@Suite(.waits("malloc counts the allocations of a tick"), .timeLimit(.minutes(60))) struct AllocationTests {
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
