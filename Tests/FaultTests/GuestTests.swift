import Glibc
import PreciseTimer
import TestSupport
import Testing

/// The library as a guest in a process: threads with unusual attributes, a descriptor table that fills up late,
/// and a quick exit.
@Suite(.waits("the process has limits that the kernel keeps"), .timeLimit(.minutes(60))) struct GuestTests {
    typealias Backend = TimerService.Backend

    /// Each backend with each of its clocks except the suspending one. The run loop has no other clock.
    private static let otherClocks = Backend.available.flatMap { backend in
        TimerClock.allCases.filter { $0 != .suspending && backend.clocks.contains($0) }.map { (backend, $0) }
    }

    private static let delayed = Probe.Means.strace("epoll_ctl:delay_exit=20000")

    /// Without CAP_SYS_NICE the kernel takes no thread back from a nice value or from the idle policy.
    private static let attributes = Tools.canBeRealTime ? ["nice", "pinned", "batch", "idle"] : ["pinned", "batch"]

    /// A backend's threads have the attributes of the process's main thread, whichever thread started them.
    @Test(arguments: Backend.available, attributes)
    func libraryThreadsDoNotInheritTheStartingThreadsAttributes(backend: Backend, attribute: String) async throws {
        // Dispatch chooses its threads' nice values by their quality of service.
        let check = backend == .dispatch ? "usual-processors-and-policy" : "ordinary-threads=timer."
        let steps = ["service-from=\(attribute)", "schedule=1x10000", "ticks=5", check]
        // On a busy machine an idle thread hardly runs.
        let run = try await Probe.run(backend, steps)
        #expect(run.outcome.code == 0 && run.trouble(ticks: 5) == nil, "\(run)")
        #expect(run.report?.step("service-from")?.isMet == true, "\(run)")
        #expect(run.report?.steps.last?.isMet == true, "\(run)")
    }

    /// The service starts while descriptors are available, and its first timer comes when all are taken. A delay may
    /// hold up Dispatch's event loop before it waits for its first timer.
    @Test(arguments: Backend.available, [Probe.Means.none] + (Tools.canTrace ? [delayed] : []))
    func timersTickEvenIfTheDescriptorTableFillsUpAfterTheStart(backend: Backend, means: Probe.Means) async throws {
        let steps = ["service", "fill", "schedule=3x10000", "ticks=5", "unfill", "shutdown"]
        let run = try await Probe.run(backend, steps + ["schedule=3x10000", "ticks=5"], under: means)
        #expect(run.outcome.code == 0, "\(run)")
        #expect(run.report?.step("ticks")?.isMet == true, "\(run)")
        #expect(run.report?.steps.last?.isMet == true, "\(run)")
        let last = try #require(run.report?.timers.last, "\(run)")
        #expect(last.accounted >= 5 && last.flaw == nil, "\(run)")
    }

    /// A service on another clock may need another descriptor.
    @Test(arguments: Self.otherClocks)
    func aTimerOnAnotherClockWithoutDescriptorsThrowsOrTicks(backend: Backend, clock: TimerClock) async throws {
        let steps = ["schedule=1x10000", "ticks=5", "fill", "clock=\(clock.rawValue)", "schedule=1x10000"]
        let run = try await Probe.run(backend, steps + ["ticks-or-ends=20", "unfill", "schedule=1x10000", "ticks=5"])
        #expect(run.outcome.code == 0, "\(run)")
        #expect(run.silence(ticks: 5) == nil, "\(run)")
        let first = try #require(run.report?.timers.first)
        #expect(
            first.ends.isEmpty && first.flaw == nil && first.accounted >= 20,
            "the running one keeps its grid: \(run)"
        )
        #expect(run.report?.steps.last?.isMet == true, "\(run)")
    }

    /// Fault 53, a limitation: the remaining threads are the library's, which take no signal.
    @Test func aProcessWhoseMainThreadHasEndedLivesWithItsServiceAndTakesNoSignalButTheLast() async throws {
        let run = try await Probe.run(.timerFD, ["schedule=1x10000", "ticks=3", "leave-main"]) { id in
            #expect(eventually { ProcFS.mainThreadHasEnded(id) })
            kill(id, SIGTERM)
            pause(.milliseconds(200))
            // The signal that no thread can block.
            kill(id, SIGKILL)
        }
        #expect(run.outcome.signal == SIGKILL, "\(run)")
    }

    @Test(arguments: Backend.available)
    func manyProcessesWithTickingTimersExitWithTheirCode(backend: Backend) async throws {
        for _ in 0..<Effort.of(5, thorough: 20) {
            let run = try await Probe.run(backend, ["schedule=20x1000", "ticks=3", "exit=7"])
            #expect(run.outcome.code == 7, "\(run)")
        }
    }
}
