import Foundation
import PreciseTimer
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

/// Checking services costs nothing while there are no timers, and leaves the loops of hosts alone.
@Suite(.waits("the supervisor wakes up, and loops of hosts stand still"), .timeLimit(.minutes(60)))
struct SupervisorTests {
    typealias Backend = TimerService.Backend

    // Swift Testing hands values to an exit test since Swift 6.3.
    #if compiler(>=6.3)
    @Test(arguments: Backend.available)
    func bothThreadsRunWhileTimersExistAndEndAfterThem(backend: Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            Fault.endIfHung()
            let target = Log()
            let service = try TimerService(backend)
            let threads = { ProcFS.threads(named: "timer.watchdog") + ProcFS.threads(named: "timer.reaper") }
            #expect(threads() == [], "there is no timer")
            for _ in 0..<2 {
                let timer = try PreciseTimer.schedule(.once(after: .seconds(3_600)), on: service, target: target) {
                    $0.note($1)
                }
                #expect(eventually { threads().count == 2 })
                timer.cancel()
                #expect(eventually { threads().isEmpty })
            }
        }
    }
    #endif

    /// The watchdog's check reads the alarm's clock. A service that begins just then must not be forgotten, even if the
    /// services that it already knows have no timers any more.
    @Test func aServiceThatBeginsDuringACheckIsSupervised() async {
        await #expect(processExitsWith: .success) {
            Fault.endIfHung()
            let (alarm, reasons) = (ReadAlarm(), Notes<PreciseTimer.EndReason>())
            let (idle, next) = (TimerService(startedOnUse: { alarm }), try TimerService(.timerFD))
            let target = Box<Thing>()
            target.value = Thing()
            let timer = try PreciseTimer.schedule(.once(after: .seconds(3_600)), on: idle) { _, _ in }
            alarm.beforeNextReading {
                guard let mortal = target.value else { return }
                _ = try? PreciseTimer.schedule(
                    .once(after: .seconds(3_600)),
                    on: next,
                    target: mortal,
                    onEnd: { reasons.append($0) },
                    handler: { _, _ in }
                )
                target.value = nil
            }
            timer.cancel()
            #expect(eventually { reasons.all == [.targetReleased] })
        }
    }

    /// An alarm that never fires.
    private final class ReadAlarm: TimerAlarm {
        private struct Event { let call: @Sendable () -> Void }

        private let event = Box<Event>()

        /// Lets something happen when the clock is read next.
        func beforeNextReading(_ event: @escaping @Sendable () -> Void) { self.event.value = Event(call: event) }

        var now: TimerInstant {
            let event = event.value
            self.event.value = nil
            event?.call()
            return TimerClock.suspending.now
        }

        func start(onFire: @escaping @Sendable () -> Void, onFailure: @escaping @Sendable (TimerError) -> Void) {}
        func set(_ deadline: TimerInstant?) {}
        func stop() {}
    }

    /// Fault 48. The callback also runs in a `deinit`, if the library holds the last reference for a moment.
    @Test func anOnEndThatNeverReturnsKeepsTheReaperFromNoOtherService() async {
        await #expect(processExitsWith: .success) {
            Fault.endIfHung()
            let (never, ends, held) = (Gate(), Notes<Int>(), try [TimerService(.timerFD), TimerService(.timerFD)])
            for (number, service) in held.enumerated() {
                var target: Log? = Log()
                if let target {
                    try PreciseTimer.schedule(
                        .once(after: .seconds(3_600)),
                        on: service,
                        target: target,
                        onEnd: { _ in
                            ends.append(number)
                            if number == 0 { never.pass() }
                        },
                        handler: { $0.note($1) }
                    )
                }
                target = nil
                #expect(eventually { ends.all.contains(number) })
            }
            #expect(ends.all == [0, 1])
            // No timer is left, so both threads end, but not the reaper that is kept.
            #expect(eventually { ProcFS.threads(named: "timer.watchdog").isEmpty })
            #expect(eventually { ProcFS.threads(named: "timer.reaper").count == 1 })
        }
    }

    /// Sweeps without a budget would take more than twice the time. Sweeps that always began anew would never come to
    /// the first timer.
    @Test func manyTimersAtRestTakeLittleTimeAndAReleasedTargetIsFoundAmongThem() async {
        await #expect(processExitsWith: .success) {
            Fault.endIfHung()
            SupervisorClock.hurry()
            let (service, targets, reasons) = (
                try TimerService(.timerFD), Box<[Thing]>(), Notes<PreciseTimer.EndReason>()
            )
            targets.value = (0..<Effort.of(400_000, thorough: 1_000_000)).map { _ in Thing() }
            for target in targets.value ?? [] {
                try PreciseTimer.schedule(
                    .once(after: .seconds(3_600)),
                    on: service,
                    target: target,
                    onEnd: { reasons.append($0) },
                    handler: { _, _ in }
                )
            }
            // Ten sweeps, each of 8 ms and a part, and the watchdog.
            let before = Reading.cpuSeconds
            pause(.seconds(1))
            #expect(Reading.cpuSeconds - before < 0.15)
            targets.value?.removeFirst()
            #expect(eventually { reasons.all == [.targetReleased] })
        }
    }

    /// Fault 50. The checks of the alarms would follow each other at once.
    @Test(.enabled(if: Tools.canTrace, Tools.noTracing), arguments: ["EPERM", "ENOSYS"])
    func aSleepThatTheSystemRefusesEndsNoTimerAndKeepsNoProcessorBusy(error: String) async throws {
        let steps = ["schedule=3x10000", "ticks=30", "rest=\(Effort.isThorough ? 5 : 0.5)"]
        let run = try await Probe.run(.timerFD, steps, under: .strace("clock_nanosleep:error=\(error)"), hurried: true)
        #expect(run.outcome.code == 0, "\(run)")
        #expect(run.trouble(ticks: 20) == nil, "\(run)")
        #expect((run.report?.step("rest")?.load ?? 1) < 0.25, "\(run)")
    }

    @Test func aSilentAlarmOnAHostsLoopWaitsForItsHost() async {
        await #expect(processExitsWith: .success) {
            Fault.endIfHung()
            SupervisorClock.hurry()
            let (log, reasons) = (Log(), Notes<PreciseTimer.EndReason>())
            let timers = try TimerService.pollable()
            try PreciseTimer.schedule(
                .once(after: .zero),
                on: timers.service,
                target: log,
                onEnd: { reasons.append($0) },
                handler: { $0.note($1) }
            )
            // Half as long again as the time after which an alarm with its own thread would fail.
            pause(.milliseconds(900))
            #expect(reasons.all == [])
            timers.process()
            #expect(log.count == 1)
            #expect(reasons.all == [.completed])
        }
    }

    @Test func aTimerFDServiceWakesOnceAMinuteToFindAClosedDescriptor() async {
        await #expect(processExitsWith: .success) {
            Fault.endIfHung()
            let (service, log) = (try TimerService(.timerFD), Log())
            #expect(eventually { Self.timersWithinAMinute == 1 }, "also without a timer")
            try PreciseTimer.schedule(.once(after: .seconds(3_600)), on: service, target: log) { $0.note($1) }
            #expect(eventually { Self.timersWithinAMinute == 1 })
        }
    }

    /// The number of timerfds that next expire within a minute (proc_pid_fdinfo(5)).
    private static var timersWithinAMinute: Int {
        let folder = "/proc/self/fdinfo"
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return numbers.count { number in
            guard let text = try? String(contentsOfFile: "\(folder)/\(number)", encoding: .utf8) else { return false }
            return seconds("it_value:", in: text).flatMap { Int($0) }.map { (1...60).contains($0) } ?? false
        }
    }

    private static func seconds(_ name: String, in text: String) -> String? {
        text.split(separator: "\n").first { $0.hasPrefix(name) }?
            .split { !$0.isNumber }.first.map(String.init)
    }
}
