import PreciseTimer
import TestSupport
import Testing

/// Waits that end early, for nothing: no tick is early, lost or invented. Faults 7 and 8, and 19.
@Suite(.timeLimit(.minutes(10))) struct InterruptionTests {
    typealias Backend = TimerService.Backend

    /// Every other call fails with EINTR (4) or EAGAIN (11).
    @Test(
        .enabled(if: Tools.canRefuse, Tools.noCompiler),
        arguments: Backend.available,
        ["epoll_wait,epoll_pwait,epoll_pwait2,poll,ppoll:4", "read:4", "read:11"]
    )
    func aHundredTicksComeThroughAStormOfInterruptions(backend: Backend, calls: String) async throws {
        let steps = ["arm=\(calls):0:0", "schedule=1x10000", "ticks=100"]
        let run = try await Probe.run(backend, steps, under: .preload())
        // Foundation waits for edges: with EAGAIN although there is something to read it loses a wake-up, which the
        // kernel never does to it. That is noticed, and the timers end.
        if backend == .runLoop && calls == "read:11" { return #expect(run.silence(ticks: 100) == nil, "\(run)") }
        #expect(run.outcome.code == 0 && run.trouble(ticks: 100) == nil, "\(run)")
    }

    /// The same by the kernel's own hand, in every second call of each thread.
    @Test(
        .enabled(if: Tools.canTrace, Tools.noTracing),
        arguments: Backend.available,
        ["epoll_wait", "epoll_pwait", "ppoll", "poll"]
    )
    func aHundredTicksComeThroughInterruptedWaits(backend: Backend, call: String) async throws {
        let steps = ["schedule=1x10000", "ticks=100"]
        let run = try await Probe.run(backend, steps, under: .strace("\(call):error=EINTR:when=1+2"))
        #expect(run.outcome.code == 0 && run.trouble(ticks: 100) == nil, "\(run)")
    }

    @Test(arguments: Backend.available)
    func aHundredTicksComeThroughTenThousandSignalsASecond(backend: Backend) async throws {
        let run = try await Probe.run(backend, ["signals=10000", "schedule=1x10000", "ticks=100"])
        #expect(run.outcome.code == 0 && run.trouble(ticks: 100) == nil, "\(run)")
        #expect(run.report?.step("signals")?.isMet == true)
    }

    /// In a time namespace the clocks that are not the wall clock are shifted, each by its own: deadlines and readings by the
    /// same. So a clock that is taken for another one shows.
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
