import Foundation
import Glibc
import PreciseTimer
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

/// A process that stands still, or hardly runs: ticks are late and counted, never early, never lost.
@Suite(.waits("a process is stopped, or gets no processor"), .timeLimit(.minutes(60))) struct StallTests {
    /// A yield would end the thread's time until its next period.
    @Test(.canRefuse, .enabled(if: ProcFS.maySchedule, "needs CAP_SYS_NICE"))
    func aServiceWithADeadlinePolicyNeverYieldsTheProcessor() async throws {
        let run = try await Probe.run(.timerFD, ["deadline-never-yields"], under: .preload())
        #expect(run.outcome.code == 0 && run.isMet("deadline-never-yields"), "\(run)")
    }

    private static let policies: [(name: String, missed: ClosedRange<Int>)] = [
        ("skip", 6...1_000), ("1000", 0...0), ("5", 1...1_000),
    ]

    /// As with a quota of two milliseconds in each tenth of a second: a tick without a policy stands
    /// for all deadlines that had passed, and each of a thousand, or the last of five, for the rest.
    @Test(arguments: Backend.available, policies)
    func aProcessThatHardlyRunsLosesNoDeadline(
        backend: Backend,
        policy: (name: String, missed: ClosedRange<Int>)
    ) async throws {
        let steps = ["policy=\(policy.name)", "schedule=1x10000", "ticks=3", "stop-often=10", "ticks=5"]
        let run = try await Probe.run(backend, steps)
        #expect(run.trouble(ticks: 90) == nil && run.isMet("stop-often"), "\(run)")
        #expect(policy.missed.contains(try #require(run.report?.timers.first?.mostMissed)), "\(run)")
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
