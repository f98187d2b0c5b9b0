import Foundation
import Glibc
import PreciseTimer
import TestSupport
import Testing

/// What a process gets of its thread options, even without rights or with one processor.
@Suite(.waits("the kernel grants options to a thread, or refuses them"), .timeLimit(.minutes(60)))
struct UnprivilegedTests {
    typealias Options = TimerService.ThreadOptions

    @Test(.isRoot)
    func withoutRightsEachRefusalSaysWhatWouldHelp() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            try #require(setgid(65_534) == 0 && setuid(65_534) == 0)
            Limit.lockedMemory.set(0)
            let service = try TimerService(
                .hybrid,
                thread: Options(policy: .fifo(priority: 50), affinity: [0], locksMemory: true, idleLatency: .zero)
            )
            let refusals = Dictionary(uniqueKeysWithValues: service.grant.refusals.map { ($0.option, $0) })
            #expect(refusals[.policy]?.refusal?.errno == EPERM)
            let advice = refusals.mapValues { item in
                ["ulimit -r", "ulimit -l"].filter { item.advice?.contains($0) == true }
            }
            #expect(advice == [.policy: ["ulimit -r"], .lockedMemory: ["ulimit -l"], .idleLatency: []])
            #expect(refusals[.idleLatency]?.advice?.isEmpty == false)
            #expect(try TickingTimer(on: service).ticks(5))
        }
    }

    @Test func aSharedServiceSaysWhatItObtainedWhileItRuns() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            let service = TimerService.hybrid
            for _ in 0..<2 {
                try scheduleFar(on: service) { _ in }
                #expect(service.grant.items.map(\.option) == [.timerSlack, .slice])
                service.shutdownForEveryone()
                #expect(service.grant.items == [])
            }
        }
    }

    /// A sandbox may forbid the calls. A kernel before Linux 6.12 takes them, without a slice. The slack of 1 ns and
    /// the shortest slice are then not obtained, which is a refusal if they were asked for.
    private static let injections = [
        ("prctl:error=EPERM", "timer slack:"), ("sched_setattr:error=EPERM", "slice:sandbox"),
        ("sched_setattr:error=ENOSYS", "slice:sandbox"), ("sched_getattr:error=EPERM", "slice:sandbox"),
        ("sched_setattr:retval=0", "slice:6.12"),
    ]

    @Test(.canTrace, arguments: injections)
    func onlyWhatWasAskedForCanBeRefusedOrRequired(injection: String, missing: String) async throws {
        for backend in Backend.available where backend != .dispatch {
            let asked = ["options=defaults", "refused=\(missing)"]
            let steps = ["options", "missing=\(missing)", "schedule=3x2000", "ticks=5", "cancel"] + asked
            let run = try await Probe.run(backend, steps, under: .strace(injection))
            #expect(run.outcome.code == 0 && run.report?.steps.map(\.isMet) == steps.map { _ in true }, "\(run)")
        }
    }

    /// The kernel would end a process whose real-time thread spins beyond the limit.
    @Test func spinningBeyondTheLimitOfRealTimeThreadsIsRefused() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            Limit.realTime.set(200_000)
            let long = TimerService.SpinOptions(maximum: .milliseconds(500), budget: 0.9)
            for policy in [Options.Policy.fifo(priority: 1), .roundRobin(priority: 1)] {
                let error = #expect(throws: TimerError.self) {
                    try TimerService(.hybrid, thread: Options(policy: policy), spin: long)
                }
                #expect(error?.code == .invalidOption && error?.attempted.contains("RLIMIT_RTTIME") == true)
                // Refused or not, the usual options are far below the limit.
                _ = try TimerService(.hybrid, thread: Options(policy: policy))
            }
            _ = try TimerService(.hybrid, spin: long)
            _ = try TimerService(.timerFD, thread: Options(policy: .fifo(priority: 1)))
        }
    }

    // Swift Testing hands values to an exit test since Swift 6.3.
    #if compiler(>=6.3)
    /// A thread that is behind never sleeps, and the kernel ends a process whose real-time thread does not sleep.
    @Test(
        .enabled(if: ProcFS.maySchedule, "needs CAP_SYS_NICE"),
        arguments: Backend.available.filter { $0 != .dispatch }
    )
    func aRealTimeThreadThatIsAlwaysBehindStaysBelowTheLimit(backend: Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            endIfHung()
            Limit.realTime.set(100_000)
            let service = try TimerService(backend, thread: .realTime(priority: 1))
            #expect(service.grant.refusals == [])
            let ticking = try TickingTimer(on: service) { _ in
                let begin = TimerClock.suspending.now
                while begin.duration(to: TimerClock.suspending.now) < .milliseconds(2) {}
            }
            pause(.seconds(1))
            #expect(ticking.ticks(10) && ticking.losesNothing)
        }
    }
    #endif

    @Test func withOneProcessorTheHybridBackendDoesNotSpinAndSaysSo() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            try #require(ProcFS.pinMainThread(to: 0))
            let service = try TimerService(.hybrid)
            let ticking = try TickingTimer(on: service)
            #expect(ticking.ticks(100))
            let spin = try #require(service.spin)
            #expect(spin.obstacle?.contains("only one processor") == true && spin.margin == .zero && spin.share == 0)
            #expect(ticking.log.ticks.allSatisfy { $0.delivered >= $0.deadline })
        }
    }

    @Test(.enabled(if: ProcFS.mayLockMemory, "needs CAP_IPC_LOCK"))
    func memoryIsLockedAsItIsTouched() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            let service = try TimerService(.timerFD, thread: Options(locksMemory: true))
            #expect(service.grant.refusals == [])
            #expect(try TickingTimer(on: service).ticks(5))
            let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
            let locked = status.split(separator: "\n").first { $0.hasPrefix("VmLck:") }?.split(separator: " ")
            #expect((locked.flatMap { Int($0[1]) } ?? 0) > 0)
            // Reserved addresses are not filled.
            #expect(ProcFS.residentBytes < 1 << 29)
        }
    }
}
