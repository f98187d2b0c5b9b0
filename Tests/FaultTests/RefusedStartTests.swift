import Foundation
import Glibc
import PreciseTimer
import TestSupport
import Testing

/// Calls that fail while a service starts: the schedule throws, or the timer ticks. It never traps, hangs or stays
/// silent.
@Suite(.waits("the kernel refuses a call of a start"), .timeLimit(.minutes(60))) struct RefusedStartTests {
    @Test(
        .canTrace,
        arguments: Backend.available,
        [
            "timerfd_create:error=EMFILE", "timerfd_create:error=ENFILE", "timerfd_create:error=ENOMEM",
            "timerfd_settime:error=EINVAL", "epoll_create1:error=EMFILE", "eventfd2:error=ENFILE",
            "epoll_ctl:error=ENOSPC",
        ]
    )
    func aCallRefusedFromTheStartThrowsOrIsNotNeeded(backend: Backend, call: String) async throws {
        let steps = ["schedule=3x10000", "ticks-or-ends=5"]
        let run = try await Probe.run(backend, steps, under: .strace(call), hurried: true)
        #expect(run.silence(ticks: 5) == nil, "\(run)")
    }

    /// CALL:ERROR:SKIPPED:TIMES, for the preloaded library. After a backend's trial the real call may fail.
    private static let later: [(Backend, String)] = {
        let one = (0..<4).flatMap { ["pthread_create:11:\($0):1", "pthread_create:11:\($0):1000000"] }
        let timers = (0..<12).map { "timerfd_create:24:\($0):1000000" }
        let loops = ["epoll_create1:24", "eventfd:24", "epoll_ctl:28"]
            .flatMap { call in (1..<5).map { "\(call):\($0):1000000" } }
        // Memory is refused only to libevent, because Swift ends the process if one of its allocations fails.
        let memory = (0..<16).flatMap { ["malloc:12:\($0):1", "malloc:12:\($0):1000000"] }
        return Backend.available.flatMap { backend in
            (one + timers + loops + (backend == .libevent ? memory : [])).map { (backend, $0) }
        }
    }()

    @Test(.canRefuse, arguments: later)
    func aCallRefusedLaterThrowsUnlessTheLibraryBelowEndsTheProcess(backend: Backend, call: String) async throws {
        let steps = ["arm=\(call)", "schedule=3x10000", "ticks-or-ends=5", "disarm", "schedule=3x10000"]
        let again = ["ticks-or-ends=5", "shutdown", "schedule=3x10000", "ticks-or-ends=5"]
        let run = try await Probe.run(backend, steps + again, under: .preload(), hurried: true)
        // libdispatch and Foundation trap there, and the library cannot prevent it.
        let traps = call.hasPrefix("timerfd") ? [.runLoop] : call.hasPrefix("e") ? [Backend.dispatch, .runLoop] : []
        if traps.contains(backend) && run.outcome.signal == SIGILL { return }
        #expect(run.silence(ticks: 5) == nil, "\(run)")
        #expect((run.report?.step("schedule")?.seconds ?? 60) < 30)
        // After that, each later start of Dispatch may be an error.
        #expect(run.worksInTheEnd || backend == .dispatch && call.hasPrefix("epoll_ctl"), "\(run)")
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

    /// The kernel refuses threads to a user who has too many.
    @Test(.isRoot, arguments: Backend.available)
    func aScheduleByAUserWithoutThreadsIsRefusedAndWorksLater(backend: Backend) async throws {
        let steps = ["nproc", "schedule=3x10000", "no-nproc", "schedule=3x10000", "ticks=5"]
        let run = try await Probe.run(backend, steps, hurried: true)
        let refusal = run.report?.step("schedule")
        #expect(refusal?.refusal?.code == "refused by the system" && (refusal?.seconds ?? 60) < 30, "\(run)")
        #expect(run.silence(ticks: 5) == nil && run.worksInTheEnd, "\(run)")
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
        case .libevent: 6
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
            attach.append { try TimerService(attachedTo: .main, mode: RunLoop.Mode("test")) }
            #endif
            #if Libevent
            let host = HostEventBase()
            attach.append { try unsafe TimerService(attachedTo: host.base) }
            #endif
            _ = RunLoop.main
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
