import PreciseTimer
import TestSupport
import Testing

/// Ticks leave no memory behind, in debug and in release builds, on every backend.
@Suite(.serialized, .timeLimit(.minutes(60))) struct LeftBehindTests {
    @Test(arguments: TimerService.Backend.available)
    func thirtyThousandTicksLeaveNoMemoryBehind(backend: TimerService.Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            Fault.limitSeconds(180)
            let ticks = Count()
            try PreciseTimer.schedule(.every(.microseconds(20)), on: backend.shared, target: ticks) { ticks, _ in
                ticks.add(1)
            }
            #expect(eventually { ticks.value > 2_000 })
            let (before, start) = (ProcFS.residentBytes, ticks.value)
            for _ in 0..<4 where ticks.value <= start + 30_000 { _ = eventually { ticks.value > start + 30_000 } }
            #expect(ticks.value > start + 30_000)
            // 155 bytes per tick, a leak that occurred once, would be more than 4 MB.
            #expect(ProcFS.residentBytes - before < 2_000_000)
            // A chain of that many links would overflow the stack on release.
            backend.shared.shutdownForEveryone()
        }
    }
}
