import Foundation
import Glibc
import PreciseTimer
import TestSupport
import Testing

/// Calls that fail while a service starts: the schedule throws, or the timer ticks. It never traps, hangs or stays
/// silent.
@Suite(.waits("the kernel refuses a call of a start"), .timeLimit(.minutes(60))) struct RefusedStartTests {
    /// CALL:ERROR:SKIPPED:TIMES, for the preloaded library. ``ExhaustionTests`` refuse descriptors. Memory is refused
    /// only to libevent, because Swift ends the process if one of its allocations fails.
    private static let calls: [(Backend, String)] = Backend.available.flatMap { backend in
        let memory = backend == .libevent ? (0..<16).map { "malloc:12:\($0)" } : []
        let calls = (0..<4).map { "pthread_create:11:\($0)" } + memory
        return ["timerfd_settime:22:0:1000000"].map { (backend, $0) }
            + calls.flatMap { call in [1, 1_000_000].map { (backend, "\(call):\($0)") } }
    }

    @Test(.canRefuse, arguments: Effort.some(calls))
    func aRefusedCallThrowsOrEndsTheTimersAndTheServiceWorksLater(backend: Backend, call: String) async throws {
        let steps = ["arm=\(call)", "schedule=3x10000", "ticks-or-ends=5", "disarm", "schedule=3x10000"]
        let again = ["ticks-or-ends=5", "shutdown", "schedule=3x10000", "ticks-or-ends=5"]
        let run = try await Probe.run(backend, steps + again, under: .preload(), hurried: true)
        #expect(run.silence(ticks: 5) == nil && run.worksInTheEnd, "\(run)")
        #expect((run.report?.step("schedule")?.seconds ?? 60) < 30)
    }

    /// The kernel of gVisor answers EINVAL, and a sandbox may give another answer.
    @Test(
        .canRefuse,
        arguments: Backend.available.filter { $0.clocks.contains(.wall) },
        [EINVAL, EPERM, ENOSYS]
    )
    func timersTickOnAKernelThatReportsNoSteps(backend: Backend, error: CInt) async throws {
        let far = ["arm=cancel_on_set:\(error):0:1000000000", "schedule=1x3600000000"]
        // Dispatch has timers of its own.
        let look = backend == .dispatch ? [] : ["expire-within=60"]
        let steps = far + look + ["cancel", "schedule=3x10000", "ticks=5", "watch"]
        let run = try await Probe.run(backend, steps, on: .wall, under: .preload())
        #expect(run.refusals.isEmpty && run.report?.steps.map(\.isMet) == steps.map { _ in true }, "\(run)")
        // Each timer of the library asks once.
        #expect((run.report?.refusedCalls ?? 0) <= 4, "\(run)")
    }

    /// The threads of Dispatch begin so late that its first timer is due before it has opened a timerfd. So one firing
    /// would not show that the timerfd was refused.
    @Test(.canRefuse)
    func aTimerfdRefusedToLateThreadsThrows() async throws {
        let steps = ["arm=timerfd_create,late_threads:24:2:1000000", "schedule=3x10000", "ticks-or-ends=5"]
        let run = try await Probe.run(.dispatch, steps, under: .preload(), hurried: true)
        #expect(run.outcome.code == 0 && (run.report?.refusedCalls ?? 0) > 0, "\(run)")
        #expect(run.report?.step("schedule")?.refusal?.code == "refused by the system", "\(run)")
    }

}

/// If there is no descriptor left, the call throws. It never traps or hangs, nor leaves a silent timer.
@Suite(.waits("the kernel refuses descriptors"), .timeLimit(.minutes(60))) struct ExhaustionTests {
    /// In a program without a test runner, because the runner takes descriptors meanwhile.
    @Test(arguments: Backend.available, 0..<12)
    func aBackendWithFewDescriptorsTicksOrRefusesAndWorksLater(backend: Backend, left: Int) async throws {
        // Of a few descriptors a library may keep some, so only without any each schedule is refused.
        let schedules = Array(repeating: "schedule=1x10000", count: left == 0 ? 3 : 1)
        let steps = ["fill=\(left)"] + schedules + ["ticks-or-ends=5", "unfill", "schedule=1x10000", "ticks=5"]
        let run = try await Probe.run(backend, steps, hurried: true)
        #expect(run.silence(ticks: 5) == nil && run.worksInTheEnd, "\(run)")
        let refusal = left < Self.descriptors(of: backend) ? "refused by the system" : nil
        let codes = run.report?.steps.map { $0.refusal?.code }
        #expect(codes == [nil] + schedules.map { _ in refusal } + [nil, nil, nil, nil], "\(run)")
    }

    /// The number of descriptors that a backend's first service needs, including its trials before it lets a
    /// library go ahead.
    private static func descriptors(of backend: Backend) -> Int {
        switch backend {
        case .timerFD, .hybrid: 1
        case .dispatch: 4
        case .libevent: 5
        case .runLoop: 8
        }
    }
}

/// Attaching to a host's loop while the system refuses descriptors: the call throws, and later succeeds.
@Suite(.waits("the kernel refuses descriptors to a host's loop"), .timeLimit(.minutes(60)))
struct AttachmentRefusalTests {
    @Test func anAttachmentWithoutDescriptorsIsRefusedAndWorksLater() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            var attach: [() throws -> TimerService] = [
                { try TimerService(queue: .global()) }, { try TimerService.pollable().service },
            ]
            #if RunLoop
            _ = RunLoop.main
            attach.append { try TimerService(attachedTo: .main, mode: RunLoop.Mode("test")) }
            #endif
            #if Libevent
            let host = HostEventBase()
            attach.append { try unsafe TimerService(attachedTo: host.base) }
            #endif
            DispatchDescriptors.open()
            Limit.descriptors.set(0)
            for attach in attach + attach + attach {
                let error = #expect(throws: TimerError.self) { try attach() }
                #expect(error?.code == .systemRefused)
            }
            Limit.descriptors.set(1_000)
            for attach in attach { try TickingTimer(.once(after: .seconds(1)), on: try attach()) }
        }
    }
}

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

    /// On a kernel with CONFIG_RT_GROUP_SCHED, a control group without a share has no real-time thread, whoever asks.
    @Test(.canTrace, .enabled(if: ProcFS.maySchedule, "needs CAP_SYS_NICE"))
    func aProgramWithTheRightGetsOtherAdviceThanTheRight() async throws {
        let steps = ["options=real-time", "refused=policy:cpu.rt_runtime_us"]
        // The first call of the thread is for the slice.
        let run = try await Probe.run(.timerFD, steps, under: .strace("sched_setattr:error=EPERM:when=2"))
        #expect(run.report?.steps.map(\.isMet) == [true, true], "\(run)")
    }

    /// A program that chrt(1) has started expects real-time threads.
    @Test(.enabled(if: ProcFS.maySchedule, "needs CAP_SYS_NICE"))
    func theGrantSaysThatAThreadIsOrdinaryBesideARealTimeMain() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            let items = { (options: Options) in
                try TimerService(.timerFD, thread: options).grant.items.filter { $0.option == .policy }
            }
            #expect(try items(Options()) == [])
            var parameters = sched_param(sched_priority: 1)
            try #require(unsafe sched_setscheduler(getpid(), SCHED_FIFO, &parameters) == 0)
            let notes = try items(Options(demand: .required))
            #expect(notes.map(\.asked) == ["normal"] && notes.first?.advice?.contains("realTime") == true)
            #expect(try items(.realTime(priority: 1)).map(\.advice) == [nil])
            #expect(try TimerService(.dispatch).grant.items == [])
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
            // Other threads of the process may have more.
            #expect(spin.obstacle?.contains("the process has") == false)
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
