import Foundation
import PreciseTimer
import Synchronization
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

/// Atomic variables that no lock protects, and that order other memory, used by two threads at once. The thread
/// sanitizer runs these, too.
@Suite(.works("threads race"), .timeLimit(.minutes(60))) struct AtomicTests {
    /// `TimerFDAlarm.deadline`, `wakesBy`, and `Spinner.margin`.
    @Test(arguments: [false, true])
    func aDeadlineThatIsSetWhileTheThreadFallsAsleepFires(spins: Bool) async throws {
        let spinner = spins ? Spinner(SpinPlan(maximum: 100_000, budget: 0.5)) : nil
        let alarm = try TimerFDAlarm(.suspending, spinner: spinner)
        let wanted = Wanted()
        try alarm.start(
            onFire: { [weak alarm] in
                guard let alarm else { return }
                let isDue = alarm.now.nanoseconds + alarm.lead >= wanted.deadline.load(ordering: .acquiring)
                if isDue { wanted.deadline.store(.max, ordering: .releasing) }
            },
            onFailure: { Issue.record("\($0)") }
        )
        for round in 0..<300 {
            try alarm.set(alarm.now.advanced(by: .seconds(3_600)))
            // The thread is about to sleep, sleeps, or spins for the deadline before.
            pause(.microseconds(round % 7 * 10))
            let next = alarm.now.advanced(by: .microseconds(round % 11 * 30))
            wanted.deadline.store(next.nanoseconds, ordering: .releasing)
            try alarm.set(next)
            #expect(await soon { wanted.deadline.load(ordering: .acquiring) == .max }, "round \(round)")
        }
        alarm.stop()
    }

    /// The flags of all backends that say that they are stopped, are active or have failed, `DispatchPreflight`'s, the
    /// pointer to the process's supervisor, and the number of the process.
    @Test(arguments: TimerService.Backend.available)
    func aShutdownBesideRequestsAndFiringsEndsEachTimerOnce(backend: TimerService.Backend) async throws {
        let (scheduled, ended, refused) = (Tally(), Tally(), Tally())
        for _ in 0..<20 {
            let (service, before) = (try TimerService(backend), scheduled.value)
            try await onThreads(4) { thread in
                if thread == 0 {
                    // The others may begin late on a busy machine.
                    while scheduled.value == before { pause(.microseconds(50)) }
                    pause(.microseconds(500))
                    service.shutdown()
                    return
                }
                let log = Log()
                for _ in 0..<100_000 {
                    let timer = try? PreciseTimer.schedule(
                        .every(.microseconds(500)),
                        on: service,
                        target: log,
                        onEnd: { _ in ended.add(1) }
                    ) { log, tick in log.note(tick) }
                    guard let timer else { return refused.add(1) }
                    scheduled.add(1)
                    if thread > 1 { continue }
                    pause(.microseconds(50))
                    timer.cancel()
                }
            }
            #expect(service.pendingCount == 0)
        }
        #expect(await soon { ended.value == scheduled.value })
        #expect(refused.value == 60, "each thread schedules until the shutdown")
    }

    /// `PollableAlarm.firing`.
    @Test func firingsOfTwoThreadsThatProcessOneAlarmDoNotOverlap() async throws {
        let alarm = try PollableAlarm(.suspending)
        // Not atomic on purpose: the flag of the alarm must protect it.
        final class Unprotected: @unchecked Sendable {
            var firings = 0
            var isInside = false
        }
        let unprotected = Unprotected()
        let overlaps = Tally()
        alarm.start(
            onFire: { [weak alarm] in
                // A call that finds no expiry due does not fire.
                do { try alarm?.set(TimerInstant(nanoseconds: 1)) } catch { Issue.record("\(error)") }
                if unprotected.isInside { overlaps.add(1) }
                unprotected.isInside = true
                unprotected.firings += 1
                unprotected.isInside = false
            },
            onFailure: { Issue.record("\($0)") }
        )
        try await onThreads(2) { _ in for _ in 0..<20_000 { alarm.process() } }
        #expect(overlaps.value == 0)
        #expect((1...40_000).contains(unprotected.firings))
        alarm.stop()
    }
}

/// A deadline, until a firing has come for it.
private final class Wanted: Sendable {
    let deadline = Atomic<UInt64>(.max)
}
