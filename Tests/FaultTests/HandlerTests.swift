import Glibc
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Handlers that trap, block, never return, schedule again and again, or end everything.
@Suite(.waits("handlers block threads, and end the process"), .timeLimit(.minutes(60))) struct HandlerTests {
    /// A loop over the 1,000,000,000,001 deadlines would not come to an end.
    @Test(arguments: [
        (PreciseTimer.MissedTickPolicy.skip, [[0, 1_000_000_000_000]]),
        (.delay, [[0, 1_000_000_000_000]]),
        (.catchUp(limit: 3), [[0, 0], [1, 0], [2, 999_999_999_998]]),
    ])
    func aStartFarInThePastIsCountedAtOnce(policy: PreciseTimer.MissedTickPolicy, late: [[Int]]) throws {
        let start = TimerInstant(nanoseconds: 1_000)
        let (virtual, log) = (VirtualTime(at: start.advanced(by: .seconds(1_000_000_000))), Log())
        let schedule = PreciseTimer.Schedule.every(.milliseconds(1), at: start)
        try PreciseTimer.schedule(schedule, on: virtual.service, missedTicks: policy, target: log) { $0.note($1) }
        virtual.advance(by: .milliseconds(1))
        #expect(log.ticks.map { [$0.index, $0.missed] } == late + [[1_000_000_000_001, 0]])
        #expect(log.ticks.first?.deadline == start)
    }

    // Swift Testing hands values to an exit test since Swift 6.3.
    #if compiler(>=6.3)
    /// The library installs no signal handler that could hide the cause, and its threads do not block it.
    @Test(arguments: Backend.available, DeliveryKind.allCases)
    func aFaultInAHandlerEndsTheProcessWithItsSignal(backend: Backend, kind: DeliveryKind) async {
        await #expect(processExitsWith: .signal(SIGILL)) { [backend, kind] in
            endIfHung()
            let (place, target) = (Place(kind), Log())
            _ = try place.schedule(.once(after: .milliseconds(1)), on: backend.shared, target: target) { _ in
                raise(SIGILL)
            }
            try await Task.sleep(for: .seconds(Hang.seconds / 2))
            withExtendedLifetime((place, target)) { exit(0) }
        }
    }

    @Test(arguments: Backend.available, [DeliveryKind.inline, .serialQueue, .actor])
    func aHandlerThatNeverReturnsStopsOnlyItsOwnTimer(backend: Backend, kind: DeliveryKind) async {
        await #expect(processExitsWith: .exitCode(7)) { [backend, kind] in
            endIfHung()
            let (place, stuck, service) = (Place(kind), Log(), try TimerService(backend))
            let timer = try place.schedule(.every(.milliseconds(1)), on: service, target: stuck) { tick in
                stuck.note(tick)
                while true { sleep(1_000) }
            }
            #expect(eventually { stuck.count == 1 })
            // Another timer of the service goes on, unless the handler occupies the service's own thread.
            let (other, onOtherService) = (try TickingTimer(on: service), try TickingTimer(on: TimerService(backend)))
            #expect(kind == .inline || other.ticks(20))
            #expect(onOtherService.ticks(20))
            #expect([timer.cancel(), other.timer.cancel()] == [true, true])
            #expect(timer.state == .ended(.cancelled) && stuck.count == 1)
            service.shutdown()
            withExtendedLifetime(place) { exit(7) }
        }
    }

    #endif

    /// With the last references to the service and to the owner of its timers.
    @Test(arguments: Backend.available)
    func aHandlerMayReleaseTheServiceAndTheOwner(backend: Backend) async throws {
        typealias Held = (service: TimerService, owner: Thing, bag: TimerBag)
        let (isReleased, held) = (Gate(), Box<Held>())
        let (ticks, ends) = (Log(), Notes<PreciseTimer.EndReason>())
        held.value = (try TimerService(backend), Thing { isReleased.open() }, TimerBag())
        // Inside a handler, so that no tick is delivered before all timers are scheduled.
        try PreciseTimer.schedule(.once(after: .zero), on: held.value?.service ?? .default, target: ends) { ends, _ in
            guard let (service, owner, bag) = held.value else { return }
            let due = PreciseTimer.Schedule.once(at: service.now)
            for _ in 0..<5 {
                let timer = try? PreciseTimer.schedule(due, on: service, target: owner, onEnd: ends.append) {
                    ticks.note($1)
                    held.value = nil
                }
                timer?.store(in: bag)
            }
        }
        await isReleased.pass()
        #expect(await soon { ends.all.count == 5 })
        #expect(ticks.count == 1, "no sibling is delivered")
        #expect(ends.all.filter { $0 == .completed }.count <= 1)
    }
}

/// Many timers and many ticks leave nothing behind.
@Suite(.works("the process keeps or returns memory"), .timeLimit(.minutes(60))) struct ManyTimersTests {
    private static let churned = Effort.of(30_000, thorough: 2_000_000, inDebug: 200_000)
    private static let many = Effort.of(1_000, thorough: 10_000)

    // Swift Testing hands values to an exit test since Swift 6.3.
    #if compiler(>=6.3)
    /// Timers that are cancelled long before their deadline, and ticks.
    @Test(arguments: Backend.available)
    func manySchedulesAndTicksLeaveNothingBehind(backend: Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            endIfHung()
            let (service, target, ticks) = (try TimerService(backend), Log(), Count())
            try PreciseTimer.schedule(.every(.microseconds(20)), on: service, target: ticks) { ticks, _ in
                ticks.add(1)
            }
            let churn = { (count: Int) in
                let start = ticks.value
                for _ in 0..<count {
                    let far = PreciseTimer.Schedule.once(after: .seconds(3_600))
                    try PreciseTimer.schedule(far, on: service, target: target) { $0.note($1) }.cancel()
                }
                return eventually(within: .seconds(150)) { ticks.value > start + 30_000 }
            }
            #expect(try churn(Self.churned / 10))
            let (descriptors, bytes) = (ProcFS.openDescriptors, ProcFS.residentBytes)
            #expect(try churn(Self.churned))
            // Heaps keep some pages; a leak of a hundred bytes per timer or tick would be more than 3 MB.
            #expect(ProcFS.residentBytes < bytes + 2_000_000)
            // The test runner may open some meanwhile.
            #expect(ProcFS.openDescriptors <= descriptors + 10)
            #expect([service.pendingCount, target.count] == [1, 0])
            // A chain of that many links would overflow the stack on release.
            service.shutdown()
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
    #endif
}

#if !DEBUG
/// The memory cost of a tick. A debug build allocates, because it notes a warning for each handler.
@Suite(.waits("malloc counts the allocations of a tick"), .timeLimit(.minutes(60))) struct AllocationTests {
    /// All ticks come on one thread, whose allocations are counted. One of the handlers is slow, which is noted.
    @Test(.canRefuse, arguments: [Backend.timerFD, .hybrid], [[], ["statistics"]])
    func inlineTicksAllocateNothing(backend: Backend, steps: [String]) async throws {
        let life = ["service"] + steps + ["no-allocations=5000"]
        let run = try await Probe.run(backend, life, under: .preload())
        #expect(run.isMet("no-allocations"), "\(run)")
    }
}
#endif
