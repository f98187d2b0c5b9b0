import Glibc
import PreciseTimer
import TestSupport
import Testing
import TimerKernel

/// A thread that is late only because it is held up. Fault 51.
@Suite(.waits("the kernel stops a thread, or hardly lets it run"), .timeLimit(.minutes(60))) struct HeldUpTests {
    @Test func aThreadIsHeldUpWhileItWaitsForAProcessorAndNotWhileItSleeps() async {
        await #expect(processExitsWith: .success) {
            Fault.endIfHung()
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
    @Test(.enabled(if: Tools.canTrace, Tools.noTracing))
    func anAlarmIsHeldUpWhileADebuggerHasStoppedAnyThread() async {
        await #expect(processExitsWith: .success) {
            Fault.endIfHung()
            let (setup, other) = (ThreadSetup(), Box<Int32>())
            try setup.startThread("test.sleeper") { while true { pause(.seconds(60)) } }
            try ThreadSetup()
                .startThread("test.stopped") {
                    other.value = ProcFS.callingThread
                    while true { pause(.seconds(60)) }
                }
            #expect(eventually { other.value != nil && setup.holdUp == nil })
            let thread = try #require(other.value)
            let isSeen = Box<Bool>()
            let see = { isSeen.value = eventually { setup.holdUp == .debugger } }
            let code = Fork.outcome(of: { Debugger.stop(thread, for: 3) }, meanwhile: see)
            #expect(code == 0)
            #expect(isSeen.value == true)
            #expect(eventually { setup.holdUp == nil })
        }
    }

    /// The whole way, with real seconds.
    @Test(.enabled(if: Tools.canTrace && Effort.isThorough, Effort.isShort))
    func timersWhoseAlarmsThreadADebuggerStopsForEightSecondsGoOn() async {
        await #expect(processExitsWith: .success) {
            Fault.endIfHung()
            let (service, log, ends) = (try TimerService(.timerFD), Log(), Notes<PreciseTimer.EndReason>())
            let thread = Box<Int32>()
            try PreciseTimer.schedule(
                .every(.milliseconds(10)),
                on: service,
                target: log,
                onEnd: { ends.append($0) },
                handler: { log, tick in
                    if thread.value == nil { thread.value = ProcFS.callingThread }
                    log.note(tick)
                }
            )
            #expect(eventually { thread.value != nil })
            let number = try #require(thread.value)
            let code = Fork.outcome { Debugger.stop(number, for: 8) }
            #expect(code == 0)
            #expect(eventually { log.ticks.contains { $0.missed > 500 } })
            #expect(ends.all == [])
        }
    }
}

/// Stops a thread as a debugger does (ptrace(2)). Glibc's function has variable arguments, which integers are passed to
/// as to any other function.
private enum Debugger {
    private typealias Call = @convention(c) (Int, Int, Int, Int) -> Int

    private static let seize = 0x4206
    private static let interrupt = 0x4207

    /// Stops a thread of another process for a while. Returns 0, or 1 if the system refuses. The caller's end lets the
    /// thread go on.
    static func stop(_ thread: Int32, for seconds: UInt32) -> Int32 {
        guard let address = unsafe dlsym(nil, "ptrace") else { return 1 }
        let call = unsafe unsafeBitCast(address, to: Call.self)
        guard call(seize, Int(thread), 0, 0) == 0, call(interrupt, Int(thread), 0, 0) == 0 else { return 1 }
        usleep(seconds * 1_000_000)
        return 0
    }
}
