import Foundation
import Glibc
import PreciseTimer
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

/// Stops a thread as a debugger does (ptrace(2)).
private enum Debugger {
    private static let seize = 0x4206
    private static let interrupt = 0x4207

    /// Stops a thread of another process until there is something to read, for at most half a minute. Returns 0, or 1
    /// if the system refuses. The caller's end lets the thread go on.
    static func stop(_ thread: Int32, until end: CInt) -> Int32 {
        let call = function("ptrace", as: (@convention(c) (Int, Int, Int, Int) -> Int).self)
        guard call?(seize, Int(thread), 0, 0) == 0, call?(interrupt, Int(thread), 0, 0) == 0 else { return 1 }
        return Poll.isReadable(end, within: 30_000) ? 0 : 1
    }
}

/// An alarm that neither fires nor reports a failure, by what is known of its thread.
@Suite(.waits("the watchdog notices a silent alarm"), .timeLimit(.minutes(60))) struct HeldUpTests {
    /// A service whose alarm never fires, and the ends of a timer that is due.
    private static func silentService(
        _ alarm: RefusingAlarm = RefusingAlarm()
    ) throws -> (TimerService, Notes<PreciseTimer.EndReason>) {
        let (service, reasons) = (TimerService(startedOnUse: { alarm }), Notes<PreciseTimer.EndReason>())
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: reasons, onEnd: reasons.append) { _, _ in }
        return (service, reasons)
    }

    /// What the checks need is opened when a service starts. Without it, a minute must pass, which is six seconds of
    /// the hurried supervisor.
    @Test(.isRoot) func inAnEmptyRootASilentAlarmFailsAfterFiveSecondsOrAMinute() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            SupervisorClock.hurry()
            let text = try Self.failureOfASilentAlarm { try TimerService(.timerFD) }
            #expect(text.contains("did not fire for 5 s"), "\(text)")
        }
        await #expect(processExitsWith: .success) {
            endIfHung()
            SupervisorClock.hurry()
            let start = Reading.seconds
            let text = try Self.failureOfASilentAlarm { nil }
            #expect(text.contains("did not fire for a minute") && Reading.seconds - start > 5.9, "\(text)")
        }
    }

    /// Starts something, goes into an empty root, and waits until a silent alarm has failed there.
    private static func failureOfASilentAlarm(_ start: () throws -> TimerService?) throws -> String {
        let (first, root) = (try start(), try TemporaryFolder())
        let isLeft = unsafe chroot(root.path) == 0 && chdir("/") == 0
        #expect(isLeft)
        let (service, reasons) = try silentService()
        defer { withExtendedLifetime((first, service)) {} }
        #expect(eventually { !reasons.all.isEmpty })
        return "\(reasons.all)"
    }

    /// A debugger has stopped a service's thread, which may hold a lock that other threads need. So each silent alarm
    /// is late, for longer than after which one fails. Of two that refuse to be set anew, one does so at the first
    /// check, and the other when it is silent already.
    @Test(.canTrace) func anAlarmWhoseThreadIsStoppedGoesOnAndOneThatRefusesToBeSetAnewFails() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            SupervisorClock.hurry()
            // Just after a tick the thread sleeps, and holds no lock that this one needs.
            let timer = try TickingTimer(.every(.milliseconds(500)), on: try TimerService(.timerFD))
            #expect(timer.ticks(2))
            let thread = try #require(ProcFS.tasks(named: "timer.timerfd").first.flatMap { Int32($0) })
            var (ends, isRight): ([CInt], Bool) = ([0, 0], false)
            try #require(unsafe pipe(&ends) == 0)
            let see = {
                // On a busy machine, the debugger may take seconds to begin.
                let isStopped = eventually { ThreadSetup().holdUp() == .debugger }
                pause(.milliseconds(1_500))
                let services = [1, 7].compactMap { try? Self.silentService(RefusingAlarm(settings: $0)) }
                isRight = eventually { services.allSatisfy { $1.all == [.backendFailed(RefusingAlarm.refusal)] } }
                isRight = isRight && isStopped && services.count == 2 && ThreadSetup().holdUp() == .debugger
                isRight = unsafe write(ends[1], "e", 1) == 1 && isRight
            }
            let code = Fork.outcome(of: { Debugger.stop(thread, until: ends[0]) }, meanwhile: see)
            #expect(code == 0 && isRight)
            #expect(timer.ticks(2) && timer.losesNothing && !timer.hasEnded)
        }
    }

    /// In a namespace of processes that has the /proc of its parent, a thread has another number there than gettid(2)
    /// says.
    @Test(arguments: [[], ["unshare", "--pid", "--fork"]])
    func aThreadThatSleepsIsKnownToSleep(command: [String]) async throws {
        if !command.isEmpty, !Tools.succeeds(command + ["true"]) { return }
        let means = Probe.Means(command: command)
        let run = try await Probe.run(.timerFD, ["schedule=1x10000", "knows-sleeper"], under: means)
        #expect(run.outcome.code == 0 && run.isMet("knows-sleeper"), "\(run)")
    }
}

/// What services keep open for the checks of their alarms.
@Suite(.waits("services open and close files of /proc"), .timeLimit(.minutes(60))) struct KeptFileTests {
    /// The descriptors on files of threads in /proc, and what they are open on.
    private static var descriptors: [CInt: String] { ProcFS.links.filter { $1.contains("/task") } }

    /// The names of these files, in order.
    private static var kept: [String] {
        descriptors.map { number, file in
            (file.split(separator: "/").last ?? "") + (ProcFS.isInheritable(number) ? " inherited" : "")
        }
        .sorted()
    }

    /// Waits until these files are kept. Dispatch may read others for a moment.
    private static func keeps(_ files: [String]) -> Bool { eventually { kept == files } }

    @Test func aServiceKeepsTheFileOfItsThreadAndTheProcessOneFolderUntilTheServiceEnds() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            for _ in 0..<3 {
                let services = try (0..<10).map { _ in try TimerService(.timerFD) }
                #expect(Self.keeps(Array(repeating: "stat", count: 10) + ["task"]))
                for service in services { service.shutdown() }
                #expect(Self.keeps(["task"]))
            }
            let host = try TimerService.pollable()
            #expect(Self.keeps(["task"]), "a host's loop is not checked")
            withExtendedLifetime(host) {}
        }
    }

    /// The others are for the program, and for libraries that end it without them.
    @Test func aServiceLeavesTheLastTwoDescriptors() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            DispatchDescriptors.open()
            let free = (0..<CInt.max).lazy.filter { fcntl($0, F_GETFD) == -1 }.prefix(4)
            Limit.descriptors.set(UInt64(free.reduce(0) { max($0, $1) }))
            let service = try TimerService(.timerFD)
            // Another thread of the process may have one for a moment.
            let leavesTwo = eventually {
                let others = (0..<2).map { _ in unsafe open("/", O_RDONLY) }
                for number in others { close(number) }
                return others.allSatisfy { $0 >= 0 }
            }
            Limit.descriptors.set(1_000)
            #expect(leavesTwo)
            withExtendedLifetime(service) {}
        }
    }

    /// A part of the program takes numbers that are not its own for files of its own.
    @Test func aFileThatGetsTheNumberOfAKeptOneIsNotClosedAndTheStateIsReadAnew() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            let (setup, threads) = (ThreadSetup(), ThreadList())
            let (mayEnd, isOver) = (Gate(), Gate())
            try setup.startThread("test.sleeper") {
                mayEnd.pass()
                isOver.open()
            }
            threads.keep()
            setup.keepState(among: threads)
            #expect(Self.keeps(["stat", "task"]))
            let zero = unsafe open("/dev/zero", O_RDONLY)
            let numbers = Self.descriptors.keys
            #expect(numbers.count >= 2 && numbers.allSatisfy { dup2(zero, $0) == $0 })
            #expect(eventually { setup.holdUp(among: threads) == nil })
            mayEnd.open()
            isOver.pass()
            #expect(eventually { setup.holdUp(among: threads) == .unknown }, "the thread has ended")
            #expect(numbers.allSatisfy { fcntl($0, F_GETFD) != -1 })
        }
    }
}

/// Checking services costs nothing while there are no timers, and leaves the loops of hosts alone.
@Suite(.waits("the supervisor wakes up, and loops of hosts stand still"), .timeLimit(.minutes(60)))
struct SupervisorTests {
    private static let far = PreciseTimer.Schedule.once(after: .seconds(3_600))

    private static var threads: [String] {
        ["timer.watchdog", "timer.reaper"].flatMap { ProcFS.threads(named: $0) }
    }

    // Swift Testing hands values to an exit test since Swift 6.3.
    #if compiler(>=6.3)
    @Test(arguments: Backend.available)
    func bothThreadsRunWhileTimersExistAndEndAfterThem(backend: Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            endIfHung()
            let service = try TimerService(backend)
            #expect(Self.threads == [], "there is no timer")
            for _ in 0..<2 {
                let timer = try TickingTimer(Self.far, on: service).timer
                #expect(eventually { Self.threads == ["timer.watchdog", "timer.reaper"] })
                timer.cancel()
                #expect(eventually { Self.threads == [] })
            }
        }
    }
    #endif

    /// The watchdog's check reads the alarm's clock. A service that begins just then must not be forgotten, even if the
    /// services that it already knows have no timers any more.
    @Test func aServiceThatBeginsDuringACheckIsSupervised() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            let (alarm, reasons) = (ManualAlarm(), Notes<PreciseTimer.EndReason>())
            let (idle, next) = (TimerService(startedOnUse: { alarm }), try TimerService(.timerFD))
            let timer = try PreciseTimer.schedule(Self.far, on: idle) { _, _ in }
            // The new timer's target is released at once.
            alarm.happen(before: 1) { try? scheduleFar(on: next, onEnd: reasons.append) }
            timer.cancel()
            #expect(eventually { reasons.all == [.targetReleased] })
        }
    }

    /// The callback also runs in a `deinit`, if the library holds the last reference for a moment.
    @Test func anOnEndThatNeverReturnsKeepsTheReaperFromNoOtherService() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            let (never, ends, held) = (Gate(), Notes<Int>(), try [TimerService(.timerFD), TimerService(.timerFD)])
            for (number, service) in held.enumerated() {
                // The thread that takes the reaper's place leaves out the service at which that one is kept.
                if number == 1 { try scheduleFar(on: held[0]) { _ in ends.append(2) } }
                try scheduleFar(on: service) { _ in
                    ends.append(number)
                    if number == 0 { never.pass() }
                }
                #expect(eventually { ends.all.contains(number) })
            }
            #expect(ends.all == [0, 1])
            held[0].shutdown()
            // No timer is left, so both threads end, but not the reaper that is kept.
            #expect(eventually { Self.threads == ["timer.reaper"] })
        }
    }

    /// Sweeps without a budget would take more than twice the time. Sweeps that always began anew would never come to
    /// the first timer.
    @Test func manyTimersAtRestTakeLittleTimeAndAReleasedTargetIsFoundAmongThem() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            SupervisorClock.hurry()
            let (service, reasons) = (try TimerService(.timerFD), Notes<PreciseTimer.EndReason>())
            var targets = (0..<Effort.of(400_000, thorough: 1_000_000)).map { _ in Thing() }
            for target in targets { try scheduleFar(on: service, target: target, onEnd: reasons.append) }
            // Ten sweeps, each of 8 ms and a part, and the watchdog.
            let before = Reading.cpuSeconds
            pause(.seconds(1))
            #expect(Reading.cpuSeconds - before < 0.15)
            targets.removeFirst()
            #expect(eventually { reasons.all == [.targetReleased] })
            withExtendedLifetime(targets) {}
        }
    }

    /// The checks of the alarms would follow each other at once.
    @Test(.canTrace, arguments: ["EPERM", "ENOSYS"])
    func aSleepThatTheSystemRefusesEndsNoTimerAndKeepsNoProcessorBusy(error: String) async throws {
        let steps = ["schedule=3x10000", "ticks=30", "rest=\(Effort.isThorough ? 5 : 0.5)"]
        let run = try await Probe.run(.timerFD, steps, under: .strace("clock_nanosleep:error=\(error)"), hurried: true)
        #expect(run.trouble(ticks: 20) == nil && run.isIdle, "\(run)")
    }

    @Test func aSilentAlarmOnAHostsLoopWaitsForItsHost() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            SupervisorClock.hurry()
            let host = try TimerService.pollable()
            let waiting = try TickingTimer(.once(after: .zero), on: host.service)
            // Half as long again as the time after which an alarm with its own thread would fail.
            pause(.milliseconds(900))
            #expect(waiting.ends.all == [])
            host.process()
            #expect(waiting.log.count == 1 && waiting.ends.all == [.completed])
        }
    }
}
