import Foundation
import Glibc
import PreciseTimer
import TestSupport
import Testing

/// What a process gets of its thread options, even without rights or with one processor.
@Suite(.waits("the kernel grants options to a thread, or refuses them"), .timeLimit(.minutes(60)))
struct UnprivilegedTests {
    typealias Options = TimerService.ThreadOptions

    @Test(.enabled(if: Tools.isRoot, Tools.notRoot))
    func withoutRightsEachRefusalSaysWhatWouldHelp() async {
        await #expect(processExitsWith: .success) {
            Fault.endIfHung()
            try #require(setgid(65_534) == 0 && setuid(65_534) == 0)
            Fault.lockNoMemory()
            let service = try TimerService(
                .hybrid,
                thread: Options(policy: .fifo(priority: 50), affinity: [0], locksMemory: true, idleLatency: .zero)
            )
            let refusals = Dictionary(uniqueKeysWithValues: service.grant.refusals.map { ($0.option, $0) })
            #expect(Set(refusals.keys) == [.policy, .lockedMemory, .idleLatency])
            #expect(refusals[.policy]?.refusal?.errno == EPERM)
            #expect(refusals[.policy]?.advice?.contains("ulimit -r") == true)
            #expect(refusals[.lockedMemory]?.advice?.contains("ulimit -l") == true)
            #expect(refusals[.idleLatency]?.advice?.isEmpty == false)
            let log = Log()
            try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { $0.note($1) }
            #expect(eventually { log.count >= 5 })
        }
    }

    @Test func aSharedServiceSaysWhatItObtainedWhileItRuns() async {
        await #expect(processExitsWith: .success) {
            Fault.endIfHung()
            let (service, log) = (TimerService.hybrid, Log())
            for _ in 0..<2 {
                try PreciseTimer.schedule(.every(.seconds(1)), on: service, target: log) { $0.note($1) }
                #expect(service.grant.items.map(\.option) == [.timerSlack, .slice])
                service.shutdownForEveryone()
                #expect(service.grant.items == [])
            }
        }
    }

    /// A sandbox may forbid prctl(2). The slack of 1 ns, for which nobody asked, is then not obtained.
    @Test(.enabled(if: Tools.canTrace, Tools.noTracing))
    func aTimerSlackThatNobodyAskedForIsNotRequired() async throws {
        let run = try await Probe.run(
            .timerFD,
            ["demanding-service", "schedule=1x10000", "ticks=5"],
            under: .strace("prctl:error=EPERM")
        )
        #expect(run.outcome.code == 0, "\(run)")
        #expect(run.report?.steps.map { $0.refusal == nil } == [true, true, true], "\(run)")
        #expect(run.report?.steps.last?.isMet == true, "\(run)")
    }

    /// A sandbox may forbid the calls. A kernel before Linux 6.12 takes them, and ignores the slice.
    @Test(
        .enabled(if: Tools.canTrace, Tools.noTracing),
        arguments: [
            ("sched_setattr:error=EPERM", "sandbox"), ("sched_setattr:error=ENOSYS", "sandbox"),
            ("sched_getattr:error=EPERM", "sandbox"), ("sched_setattr:retval=0", "6.12"),
        ]
    )
    func aSliceThatIsRefusedIsSaidAndNothingElseChanges(injection: String, advice: String) async throws {
        for backend in TimerService.Backend.available where backend != .dispatch {
            let run = try await Probe.run(
                backend,
                ["demanding-service", "slice-refused=\(advice)", "schedule=3x2000", "ticks=5", "cancel"],
                under: .strace(injection)
            )
            #expect(run.outcome.code == 0, "\(run)")
            #expect(run.report?.steps.map(\.isMet) == [true, true, true, true, true], "\(run)")
        }
    }

    /// The kernel would end a process whose real-time thread spins beyond the limit. Fault 55.
    @Test func spinningBeyondTheLimitOfRealTimeThreadsIsRefused() async {
        await #expect(processExitsWith: .success) {
            Fault.endIfHung()
            Fault.limitRealTime(milliseconds: 200)
            let long = TimerService.SpinOptions(maximum: .milliseconds(500), budget: 0.9)
            for policy in [Options.Policy.fifo(priority: 1), .roundRobin(priority: 1)] {
                let error = #expect(throws: TimerError.self) {
                    try TimerService(.hybrid, thread: Options(policy: policy), spin: long)
                }
                #expect(error?.code == .invalidOption)
                #expect(error?.attempted.contains("RLIMIT_RTTIME") == true)
                // Refused or not, the usual options are far below the limit.
                _ = try TimerService(.hybrid, thread: Options(policy: policy))
            }
            _ = try TimerService(.hybrid, spin: long)
            _ = try TimerService(.timerFD, thread: Options(policy: .fifo(priority: 1)))
        }
    }

    @Test func withOneProcessorTheHybridBackendDoesNotSpinAndSaysSo() async {
        await #expect(processExitsWith: .success) {
            Fault.endIfHung()
            try #require(ProcFS.pinMainThread(to: 0))
            let (service, log) = (try TimerService(.hybrid), Log())
            try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { $0.note($1) }
            #expect(eventually { log.count >= 100 })
            let spin = try #require(service.spin)
            #expect(spin.obstacle?.contains("only one processor") == true)
            #expect(spin.margin == .zero)
            #expect(spin.share == 0)
            #expect(log.ticks.allSatisfy { $0.delivered >= $0.deadline })
        }
    }

    @Test(.enabled(if: ProcFS.mayLockMemory, "needs CAP_IPC_LOCK"))
    func memoryIsLockedAsItIsTouched() async {
        await #expect(processExitsWith: .success) {
            Fault.endIfHung()
            let service = try TimerService(.timerFD, thread: Options(locksMemory: true))
            #expect(service.grant.refusals == [])
            let log = Log()
            try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { $0.note($1) }
            #expect(eventually { log.count >= 5 })
            let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
            let locked = status.split(separator: "\n").first { $0.hasPrefix("VmLck:") }?.split(separator: " ")
            #expect((locked.flatMap { Int($0[1]) } ?? 0) > 0)
            // Reserved addresses are not filled.
            #expect(ProcFS.residentBytes < 1 << 29)
        }
    }
}
