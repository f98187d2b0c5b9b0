import Glibc
import PreciseTimer
import TestSupport
import Testing
import TimerKernel

/// A process that stands still, or hardly runs: ticks are late and counted, never early, never lost.
@Suite(.waits("a process is stopped, or gets no processor"), .timeLimit(.minutes(60))) struct StallTests {
    /// A yield would end the thread's time until its next period.
    @Test(.canRefuse, .enabled(if: ProcFS.maySchedule, "needs CAP_SYS_NICE"))
    func aServiceWithADeadlinePolicyNeverYieldsTheProcessor() async throws {
        let run = try await Probe.run(.timerFD, ["deadline-never-yields"], under: .preload())
        #expect(run.outcome.code == 0 && run.isMet("deadline-never-yields"), "\(run)")
    }

    private static let policies: [(name: String, missed: ClosedRange<UInt64>)] = [
        ("skip", 6...1_000), ("1000", 0...0), ("5", 1...1_000),
    ]

    /// As with a quota of two milliseconds in each tenth of a second: a tick without a policy stands
    /// for all deadlines that had passed, and each of a thousand, or the last of five, for the rest.
    @Test(arguments: Backend.available, policies)
    func aProcessThatHardlyRunsLosesNoDeadline(
        backend: Backend,
        policy: (name: String, missed: ClosedRange<UInt64>)
    ) async throws {
        let mark = Mark()
        let steps = ["policy=\(policy.name)", "schedule=1x10000", "ticks=3", "mark=\(mark.path)", "ticks=5"]
        let run = try await Probe.run(backend, steps) { id in
            mark.wait()
            for _ in 0..<10 {
                // The kernel then also ends some of the process's waits with EINTR.
                kill(id, SIGSTOP)
                var info = unsafe siginfo_t()
                unsafe waitid(P_PID, id_t(id), &info, WSTOPPED | WEXITED | WNOWAIT)
                pause(.milliseconds(98))
                kill(id, SIGCONT)
                pause(.milliseconds(2))
            }
            mark.remove()
        }
        #expect(run.trouble(ticks: 90) == nil, "\(run)")
        let (ticks, period): ([ProbeReport.Tick], UInt64) = (try #require(run.report?.timers.first?.ticks), 10_000_000)
        #expect(policy.missed.contains(ticks.map(\.missed).max() ?? 0), "\(run)")
        let wrong = ticks.filter { tick in
            let next = tick.deadline + (tick.missed + 1) * period
            return next - period > tick.delivered || policy.name == "skip" && next <= tick.woke
        }
        #expect(wrong.isEmpty, "\(wrong)")
    }

}

/// A thread that is late only because it is held up.
@Suite(.waits("the kernel stops a thread, or hardly lets it run"), .timeLimit(.minutes(60))) struct HeldUpTests {
    @Test func aThreadIsHeldUpWhileItWaitsForAProcessorAndNotWhileItSleeps() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            let (setup, works) = (ThreadSetup(), Box<Bool>())
            works.value = true
            try setup.startThread("test.worker") {
                while works.value == true {}
                while true { pause(.seconds(60)) }
            }
            #expect(eventually { if case .processors(let ran) = setup.holdUp { ran > 50_000_000 } else { false } })
            works.value = false
            #expect(eventually { setup.holdUp == nil })
        }
    }

    /// It may hold a lock that the alarm's thread needs.
    @Test(.canTrace)
    func anAlarmIsHeldUpWhileADebuggerHasStoppedAnyThread() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            let (setup, other) = (ThreadSetup(), Box<Int32>())
            try setup.startThread("test.sleeper") { while true { pause(.seconds(60)) } }
            try ThreadSetup()
                .startThread("test.stopped") {
                    other.value = ProcFS.callingThread
                    while true { pause(.seconds(60)) }
                }
            #expect(eventually { other.value != nil && setup.holdUp == nil })
            let thread = try #require(other.value)
            var isSeen = false
            let see = { isSeen = eventually { setup.holdUp == .debugger } }
            let code = Fork.outcome(of: { Debugger.stop(thread, for: 3) }, meanwhile: see)
            #expect(code == 0 && isSeen)
            #expect(eventually { setup.holdUp == nil })
        }
    }

    /// The whole way, with real seconds.
    @Test(.enabled(if: Tools.canTrace && Effort.isThorough, Effort.isShort))
    func timersWhoseAlarmsThreadADebuggerStopsForEightSecondsGoOn() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            let thread = Box<Int32>()
            let held = try TickingTimer(.every(.milliseconds(10)), on: try TimerService(.timerFD)) { _ in
                if thread.value == nil { thread.value = ProcFS.callingThread }
            }
            #expect(eventually { thread.value != nil })
            let number = try #require(thread.value)
            let code = Fork.outcome { Debugger.stop(number, for: 8) }
            #expect(code == 0)
            #expect(eventually { held.log.ticks.contains { $0.missed > 500 } })
            #expect(held.ends.all == [])
        }
    }
}

/// Stops a thread as a debugger does (ptrace(2)).
private enum Debugger {
    private static let seize = 0x4206
    private static let interrupt = 0x4207

    /// Stops a thread of another process for a while. Returns 0, or 1 if the system refuses. The caller's end lets the
    /// thread go on.
    static func stop(_ thread: Int32, for seconds: UInt32) -> Int32 {
        let call = function("ptrace", as: (@convention(c) (Int, Int, Int, Int) -> Int).self)
        guard call?(seize, Int(thread), 0, 0) == 0, call?(interrupt, Int(thread), 0, 0) == 0 else { return 1 }
        usleep(seconds * 1_000_000)
        return 0
    }
}
