import PreciseTimer
import TestSupport
import Testing

/// Waits that end early without cause: no tick is early, lost or invented. Faults 7, 8 and 19.
@Suite(.waits("signals end the waits of real threads"), .timeLimit(.minutes(60))) struct InterruptionTests {
    typealias Backend = TimerService.Backend

    /// Every second call fails with EINTR (4) or EAGAIN (11).
    @Test(
        .enabled(if: Tools.canRefuse, Tools.noCompiler),
        arguments: Backend.available,
        ["epoll_wait,epoll_pwait,epoll_pwait2,poll,ppoll:4", "read:4", "read:11"]
    )
    func aHundredTicksComeDespiteAStormOfInterruptions(backend: Backend, calls: String) async throws {
        let steps = ["arm=\(calls):0:0", "schedule=1x2000", "ticks-or-ends=100"]
        // Foundation waits for edges. If it gets EAGAIN although data is present, it loses a wake-up; a real kernel
        // never does that. The watchdog notices it and ends the timers.
        let isLost = backend == .runLoop && calls == "read:11"
        let run = try await Probe.run(backend, steps, under: .preload(), hurried: isLost)
        if isLost { return #expect(run.silence(ticks: 100) == nil, "\(run)") }
        #expect(run.outcome.code == 0 && run.trouble(ticks: 100) == nil, "\(run)")
    }

    /// The same, with interruptions by the kernel in every second call of each thread.
    @Test(
        .enabled(if: Tools.canTrace, Tools.noTracing),
        arguments: Backend.available,
        ["epoll_wait", "epoll_pwait", "ppoll", "poll"]
    )
    func aHundredTicksComeDespiteInterruptedWaits(backend: Backend, call: String) async throws {
        let steps = ["schedule=1x2000", "ticks-or-ends=100"]
        let run = try await Probe.run(backend, steps, under: .strace("\(call):error=EINTR:when=1+2"))
        #expect(run.outcome.code == 0 && run.trouble(ticks: 100) == nil, "\(run)")
    }

    @Test(arguments: Backend.available)
    func aHundredTicksComeDespiteTenThousandSignalsASecond(backend: Backend) async throws {
        let run = try await Probe.run(backend, ["signals=10000", "schedule=1x10000", "ticks-or-ends=100"])
        #expect(run.outcome.code == 0 && run.trouble(ticks: 100) == nil, "\(run)")
        #expect(run.report?.step("signals")?.isMet == true)
    }

    /// In a time namespace, all clocks but the wall clock are shifted, each by its own amount, for deadlines and
    /// readings alike. So a confusion of two clocks becomes visible.
    @Test(
        .enabled(if: Tools.hasTimeNamespaces, Tools.noTimeNamespaces),
        arguments: Backend.available,
        [864_000, -60]
    )
    func timersTickInATimeNamespace(backend: Backend, seconds: Int) async throws {
        let shifts: [TimerClock: Int] = [.suspending: seconds, .continuous: seconds + 36_000]
        let offsets = ["--monotonic", "\(seconds)", "--boottime", "\(seconds + 36_000)"]
        for clock in TimerClock.allCases where backend.clocks.contains(clock) {
            let run = try await Probe.run(
                backend,
                ["schedule=3x10000", "ticks=20"],
                on: clock,
                under: Probe.Means(command: ["unshare", "-T"] + offsets)
            )
            #expect(run.outcome.code == 0 && run.trouble(ticks: 20) == nil, "\(run)")
            let first = try #require(run.report?.timers.first?.ticks.first)
            guard let expected = shifts[clock] else { continue }
            let shift = Int(first.deadline / 1_000_000_000) - Int(clock.now.nanoseconds / 1_000_000_000)
            #expect(abs(shift - expected) < 600, "the namespace shifts the \(clock) clock")
        }
    }
}
