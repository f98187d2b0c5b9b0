import PreciseTimer
import TestSupport
import Testing

/// Many timers and many ticks leave nothing behind.
@Suite(.works("the process keeps or returns memory"), .timeLimit(.minutes(60))) struct ManyTimersTests {
    private static let churned = Effort.of(30_000, thorough: 2_000_000, inDebug: 200_000)
    private static let many = Effort.of(1_000, thorough: 10_000)

    // Swift Testing hands values to an exit test since Swift 6.3.
    #if compiler(>=6.3)
    /// Timers that are cancelled long before their deadline leave nothing behind.
    @Test(arguments: Backend.available)
    func manySchedulesAndCancelsLeaveNothingBehind(backend: Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            endIfHung()
            let (service, target) = (try TimerService(backend), Log())
            let churn = { (count: Int) in
                for _ in 0..<count {
                    try PreciseTimer.schedule(.once(after: .seconds(3_600)), on: service, target: target) {
                        $0.note($1)
                    }
                    .cancel()
                }
            }
            try churn(Self.churned / 10)
            let (descriptors, bytes) = (ProcFS.openDescriptors, ProcFS.residentBytes)
            try churn(Self.churned)
            // Heaps keep some pages; a leak of a hundred bytes per timer would be many times as much.
            #expect(ProcFS.residentBytes < bytes + bytes / 20 + 1 << 20)
            // The test runner may open some meanwhile.
            #expect(ProcFS.openDescriptors <= descriptors + 10)
            #expect([service.pendingCount, target.count] == [0, 0])
        }
    }

    @Test(arguments: Backend.available)
    func manyTimersCostNoMoreThreadsAndDescriptorsThanOne(backend: Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            endIfHung()
            DispatchDescriptors.open()
            let first = try TickingTimer(.every(.milliseconds(5)), on: backend.shared)
            #expect(first.ticks(3))
            let (descriptors, threads) = (ProcFS.openDescriptors, ProcFS.threads(named: "").count)
            let others = try (1..<Self.many)
                .map { try TickingTimer(.every(.milliseconds(100 + $0 % 400)), on: backend.shared) }
            #expect(backend.shared.pendingCount == Self.many)
            #expect(eventually { others.allSatisfy { $0.log.count > 0 } })
            // Dispatch and the test runner may keep a few more workers and descriptors.
            #expect(eventually { ProcFS.threads(named: "").count <= threads + 10 })
            #expect(eventually { ProcFS.openDescriptors <= descriptors + 10 })
        }
    }
    @Test(arguments: Backend.available)
    func thirtyThousandTicksLeaveNoMemoryBehind(backend: Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            endIfHung()
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

    /// They end within four sweeps, a second apart.
    @Test(.enabled(if: Effort.isThorough, Effort.isShort))
    func aMillionTimersOfOneTargetEndWithItAndLeaveSiblingsAlone() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            let (service, ended) = (try TimerService(.timerFD), Count())
            var target: Thing? = Thing()
            for _ in 0..<1_000_000 {
                if let target { try scheduleFar(on: service, target: target) { _ in ended.add(1) } }
            }
            let sibling = try TickingTimer(on: service)
            let begin = TimerClock.suspending.now
            target = nil
            #expect(eventually(within: .seconds(600)) { ended.value == 1_000_000 })
            let length = begin.duration(to: TimerClock.suspending.now)
            let late = sibling.log.ticks.map(\.lateness).max() ?? .zero
            print("a million timers ended \(length) after their target; a sibling was late by \(late) at most")
            #expect(sibling.losesNothing)
        }
    }

}

#if !DEBUG
/// The memory cost of a tick. A debug build allocates, because it notes a warning for each handler.
@Suite(.waits("malloc counts the allocations of a tick"), .timeLimit(.minutes(60))) struct AllocationTests {
    /// All ticks come on one thread, whose allocations are counted. What is noted of a handler that the machine held up
    /// may allocate, so one of five attempts must count none.
    @Test(.canRefuse, arguments: [Backend.timerFD, .hybrid], [[], ["statistics"]])
    func inlineTicksAllocateNothing(backend: Backend, steps: [String]) async throws {
        let life = ["service"] + steps + ["no-allocations=5000"]
        var run = try await Probe.run(backend, life, under: .preload())
        for _ in 1..<5 where !run.isMet("no-allocations") {
            run = try await Probe.run(backend, life, under: .preload())
        }
        #expect(run.isMet("no-allocations"), "\(run)")
    }
}
#endif
