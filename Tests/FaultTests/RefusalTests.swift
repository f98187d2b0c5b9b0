import Foundation
import Glibc
import PreciseTimer
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

/// The main kinds of refusals; `Tests/Refusals` fails every system call of a service's life, once. A start throws, or
/// its timers tick. A running timer ends once with the failure, or goes on as before. No thread spins.
@Suite(.waits("the kernel refuses a call"), .timeLimit(.minutes(60))) struct RefusedCallTests {
    /// CALL:ERROR:SKIPPED:TIMES, for the preloaded library. Memory is refused only to libevent, because Swift ends the
    /// process if one of its allocations fails. If Dispatch's threads begin late, its first timer is due before it has
    /// opened a timerfd, and one firing would not show that this was refused.
    private static let startFaults: [(Backend, String)] = Backend.available.flatMap { backend in
        let memory = backend == .libevent ? (0..<16).map { "malloc:12:\($0)" } : []
        let late = backend == .dispatch ? ["timerfd_create,late_threads:24:2"] : []
        let calls = ["pthread_create:11:0", "pthread_create:11:1", "timerfd_settime:22:0"] + late + memory
        let all = (0..<12).map { (backend, "fill=\($0)") } + calls.map { (backend, "arm=\($0):1000000") }
        return all.filter { isPossible($1) }
    }

    /// Without a C compiler, only descriptors can be refused or closed.
    private static func isPossible(_ fault: String) -> Bool {
        !fault.hasPrefix("arm") || Tools.refusingLibrary != nil
    }

    private static func means(for fault: String) throws -> Probe.Means {
        try fault.hasPrefix("arm") ? .preload() : .none
    }

    /// In a program without a test runner, because the runner takes descriptors meanwhile.
    @Test(arguments: startFaults)
    func aRefusedStartThrowsOrItsTimersTickOrEndAndTheServiceWorksLater(backend: Backend, fault: String) async throws {
        // Of a few descriptors a library may keep some, so only without any each schedule is refused.
        let schedules = Array(repeating: "schedule=1x10000", count: fault == "fill=0" ? 3 : 1)
        let again = ["disarm", "unfill", "shutdown", "schedule=1x10000", "ticks=5"]
        let steps = [fault] + schedules + ["ticks-or-ends=5"] + again
        let run = try await Probe.run(backend, steps, under: Self.means(for: fault), hurried: true)
        #expect(run.silence(ticks: 5) == nil && run.worksInTheEnd, "\(run)")
        #expect((run.report?.step("schedule")?.seconds ?? 60) < 30)
        #expect(run.failures(saying: "did not fire") == [] || fault.contains("settime"), "\(run)")
        let left = fault.hasPrefix("fill") ? Int(fault.dropFirst(5)) : fault.contains("thread") ? 0 : nil
        guard let left else { return }
        let refusal = left < Self.descriptors(of: backend) ? "refused by the system" : nil
        let codes = run.report?.steps.filter { $0.text == schedules[0] }.map { $0.refusal?.code }
        #expect(codes == schedules.map { _ in refusal } + [nil], "\(run)")
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
            for attach in attach + attach {
                #expect(#expect(throws: TimerError.self) { try attach() }?.code == .systemRefused)
            }
            Limit.descriptors.set(1_000)
            for attach in attach { try TickingTimer(.once(after: .seconds(1)), on: try attach()) }
        }
    }

    /// gVisor's kernel answers EINVAL, and a sandbox may give another answer. Each timer of the library asks once, and
    /// looks at the clock each minute.
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
        #expect(run.isMet(all: steps) && (run.report?.refusedCalls ?? 9) <= 4, "\(run)")
    }

    /// Calls that fail for ever, once timers are running, and kinds of descriptors that another part of the program
    /// closes. `waits` are all calls in which a backend may wait; a loop itself may fail, although its timer could
    /// still be read.
    private static let faults: [(Backend, String)] = Backend.available.flatMap { backend in
        let loops = "epoll_wait,epoll_pwait,epoll_pwait2"
        let waits = loops + ",poll,ppoll,read"
        var faults = ["arm=\(waits):22", "arm=timerfd_settime:22", "close=[timerfd]"]
        // libdispatch traps if a wait gets EBADF, and both it and Foundation trap or spin if their epoll is another
        // file, without code of the library.
        if backend == .dispatch { return faults.filter(isPossible).map { (backend, $0) } }
        faults.append("arm=\(waits):9")
        if backend == .libevent { faults += ["arm=\(loops):9", "arm=\(loops):22"] }
        if backend != .runLoop { faults += ["arm=read:22", "close=[eventpoll]", "close=[eventfd]", "close=all"] }
        return faults.filter(isPossible).map { (backend, $0) }
    }

    /// Files get the closed numbers. Afterwards, without the fault, a new service works, or reports that it does not.
    @Test(arguments: faults)
    func aFaultOfRunningTimersEndsThemOrTheyGoOn(backend: Backend, fault: String) async throws {
        let isClosing = fault.hasPrefix("close")
        // libdispatch reports no failure, and burns a processor. The timers tick late, until the watchdog ends them.
        let goesOn = isClosing || backend == .dispatch
        let occurs = isClosing ? [fault, "reuse"] : [fault + ":0:1000000000"]
        let running = ["schedule=3x10000", "ticks=5"] + occurs + [goesOn ? "ticks-or-ends=20" : "ends=15"]
        let later = ["disarm", "shutdown", "rest=0.3", "still-open", "schedule=1x10000", "ticks-or-ends=5"]
        let all = running + ["rest=0.3"] + later
        let run = try await Probe.run(backend, all, under: Self.means(for: fault), hurried: true)
        #expect(run.silence(ticks: 5) == nil && run.isMet(running[running.count - 1]), "\(run)")
        #expect(run.isIdle || backend == .dispatch && !isClosing, "\(run)")
        let timers = run.report?.timers ?? []
        if !goesOn {
            #expect(timers.prefix(3).map(\.ends.count) == [1, 1, 1], "\(run)")
            // The service's own thread reports the failure, and not the watchdog, which sets the timer after seconds.
            let isOwn = run.failures(saying: "did not fire") + run.failures(saying: "setting") == []
            #expect(isOwn || backend == .runLoop || fault.contains("settime"), "\(run)")
        }
        if !isClosing { return }
        // libdispatch's descriptors are closed, but it keeps their numbers. The trial at a start notices this, unless
        // a busy machine shows it each of the trial's timers only when that timer is due. Then the service fails
        // later, or the next start notices it.
        let isNoticed = !run.refusals.isEmpty || timers.dropFirst(3).contains { !$0.failures.isEmpty }
        #expect(backend != .dispatch || isNoticed, "\(run)")
        // A limitation: in the end, libevent closes its eventfd by number, and Foundation all of a loop's descriptors.
        let isLimited = backend == .runLoop || backend == .libevent && fault == "close=[eventfd]"
        #expect(isLimited || !run.isMet("reuse") || run.isMet("still-open"), "a file of the host was closed: \(run)")
    }

    /// Every second call fails with EINTR (4) or EAGAIN (11).
    @Test(
        .canRefuse,
        arguments: Backend.available,
        ["epoll_wait,epoll_pwait,epoll_pwait2,poll,ppoll:4", "read:4", "read:11"]
    )
    func aHundredTicksComeDespiteAStormOfInterruptions(backend: Backend, storm: String) async throws {
        // Foundation waits for edges. If it gets EAGAIN although data is present, it loses a wake-up; a real kernel
        // never does that. The watchdog notices it and ends the timers.
        let isLost = backend == .runLoop && storm == "read:11"
        let steps = ["arm=\(storm):0:0", "schedule=1x2000", "ticks-or-ends=100"]
        let run = try await Probe.run(backend, steps, under: .preload(), hurried: isLost)
        #expect((isLost ? run.silence(ticks: 100) : run.trouble(ticks: 100)) == nil && run.isMet("arm"), "\(run)")
    }

    /// In a time namespace, all clocks but the wall clock are shifted, each by its own amount, for deadlines and
    /// readings alike. So a confusion of two clocks becomes visible.
    @Test(
        .enabled(if: Tools.succeeds(["unshare", "-T", "true"]), "needs the right to make a time namespace"),
        arguments: Backend.available
    )
    func timersTickInATimeNamespace(backend: Backend) async throws {
        let shifts: [TimerClock: Int] = [.suspending: 36_000, .continuous: 864_000, .wall: 0]
        let unshare = ["unshare", "-T", "--monotonic", "36000", "--boottime", "864000"]
        for clock in TimerClock.allCases where backend.clocks.contains(clock) {
            let steps = ["schedule=3x10000", "ticks=20"]
            let run = try await Probe.run(backend, steps, on: clock, under: Probe.Means(command: unshare))
            #expect(run.trouble(ticks: 20) == nil, "\(run)")
            let first = try #require(run.report?.timers.first?.ticks.first)
            let shift = Int(first / 1_000_000_000) - Int(clock.now.nanoseconds / 1_000_000_000)
            #expect(abs(shift - (shifts[clock] ?? 0)) < 600, "the namespace shifts the \(clock) clock")
        }
    }
}

/// Sets a timer of the kernel from outside; 0 disarms it.
private func set(_ timer: CInt, nanoseconds: UInt64) {
    typealias Set = @convention(c) (CInt, CInt, UnsafeRawPointer, UnsafeMutableRawPointer?) -> CInt
    _ = unsafe function("timerfd_settime", as: Set.self)?(timer, 0, [0, 0, 0, nanoseconds], nil)
}

/// Another part of the program closes or sets what is not its own.
@Suite(.waits("the kernel gives a closed number to the next descriptor"), .timeLimit(.minutes(60)))
struct StrayCallTests {
    /// The kernel does not tell a thread that sleeps in `read`.
    @Test func theWatchOfTheWallClockEndsIfItsDescriptorIsClosed() async {
        await #expect(processExitsWith: .success) {
            let (watch, own) = try newTimers { try WallClockWatch(longestSleep: .milliseconds(20)) }
            let failures = Notes<TimerError>()
            #expect(own.count == 1)
            try watch.start(onCheck: { _ in }, onFailure: failures.append)
            pause(.milliseconds(50))
            #expect(failures.all.isEmpty, "the thread wakes, and sleeps again")
            for descriptor in own { close(descriptor) }
            #expect(eventually { !failures.all.isEmpty })
            watch.stop()
            #expect(failures.all.count == 1)
        }
    }

    // Swift Testing hands values to an exit test since Swift 6.3.
    #if compiler(>=6.3)
    /// As a process finds it that is restored from a checkpoint.
    @Test(arguments: Backend.available)
    func timersTickOnIfTheKernelsTimerIsDisarmed(backend: Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            endIfHung()
            SupervisorClock.hurry()
            let timer = try TickingTimer(.every(.milliseconds(10)), on: try TimerService(backend))
            #expect(timer.ticks(5))
            // A thread that is awake sets its timer again.
            for _ in 0..<20 {
                for descriptor in timerDescriptors { set(descriptor, nanoseconds: 0) }
                pause(.milliseconds(1))
            }
            #expect(timer.ticks(100) && timer.losesNothing && timer.ends.all == [])
            let isOnTime = timer.log.ticks.suffix(50).contains { $0.missed == 0 }
            #expect(isOnTime, "it ticks more often than the watchdog looks")
        }
    }

    /// The kernel gives the number to the next service, whose timer the first one would set.
    @Test(arguments: [Backend.timerFD, .hybrid])
    func aServiceWhoseDescriptorsNumberWentToAnotherServiceEndsAndLeavesThatOneAlone(backend: Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            endIfHung()
            let (first, own) = try newTimers { try TimerService(backend) }
            let lost = try TickingTimer(.every(.milliseconds(50)), on: first)
            let number = try #require(own.count == 1 ? own.first : nil)
            close(number)
            // Smaller numbers may be free, too.
            var others: [TimerService] = []
            while others.count < 100, fcntl(number, F_GETFD) == -1 { others.append(try TimerService(backend)) }
            #expect(timerDescriptors.contains(number), "the number has a new owner")
            let second = try TickingTimer(.every(.milliseconds(5)), on: try #require(others.last))
            #expect(lost.endsOnceByALostDescriptor())
            #expect(second.ticks(20))
            first.shutdown()
            #expect(second.ticks(20) && second.losesNothing, "its descriptor was not closed")
        }
    }
    #endif

    /// An alarm whose thread sleeps by a time-out, as a real-time thread on a kernel with PREEMPT_RT.
    private static func newAlarm(_ clock: TimerClock) throws -> (alarm: TimerFDAlarm, timer: CInt, event: CInt) {
        // Dispatch would open its own event at any moment.
        DispatchDescriptors.open()
        let event = "anon_inode:[eventfd]"
        while true {
            let known = ProcFS.descriptors(on: event)
            let (alarm, timers) = try newTimers { try TimerFDAlarm(clock, sleepsByTimeOut: true) }
            let events = ProcFS.descriptors(on: event).filter { !known.contains($0) }
            // Otherwise somebody else has opened or closed one in between.
            if timers.count == 1, events.count == 1 { return (alarm, timers[0], events[0]) }
        }
    }

    /// A time-out does not hear that the wall clock is set, or that the machine was suspended. A timer of the kernel
    /// does: it expires then (TFD_TIMER_CANCEL_ON_SET), and so here by another setting. An alarm that hears it sets the
    /// timer anew.
    @Test func aThreadThatSleepsByATimeOutHearsThatItsTimerExpires() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            for clock in [TimerClock.wall, .continuous] {
                let (alarm, timer, _) = try Self.newAlarm(clock)
                try alarm.start(onFire: {}, onFailure: { fatalError("\($0)") })
                try alarm.set(alarm.now.advanced(by: .seconds(3_600)))
                for _ in 0..<3 {
                    // The flags: an absolute instant, and TFD_TIMER_CANCEL_ON_SET.
                    // The thread also wakes once a minute, to find a closed descriptor.
                    let isSet = eventually {
                        let (seconds, flags) = ProcFS.timer(timer)
                        return (1...60).contains(seconds) && flags == (clock == .wall ? 3 : 1)
                    }
                    try #require(isSet, "\(clock): \(ProcFS.timer(timer))")
                    set(timer, nanoseconds: 1)
                }
                // It goes on, so that the next one's descriptors have other numbers.
            }
        }
    }

    /// What wakes a thread that sleeps by a time-out is written to, and the thread reads it.
    @Test func aFileThatGetsTheNumberOfAnEventDescriptorIsNeitherWrittenToNorRead() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            var lost: [(service: TimerService, number: CInt)] = []
            for isFull in [false, true] {
                let (alarm, _, number) = try Self.newAlarm(.suspending)
                let service = try TimerService(alarm: alarm)
                lost.append((service, number))
                let far = try TickingTimer(.every(.milliseconds(50)), on: service)
                var ends: [CInt] = [0, 0]
                #expect(unsafe pipe(&ends) == 0)
                if isFull { #expect(unsafe write(ends[1], [1], 8) == 8) }
                #expect(dup2(ends[isFull ? 0 : 1], number) == number)
                let isLost = far.endsOnceByALostDescriptor {
                    if isFull { return }
                    // Each of these is earlier than the deadline for which the thread sleeps.
                    _ = try? PreciseTimer.schedule(.once(after: .zero), on: service, target: far.log) { _, _ in }
                }
                #expect(isLost && Poll.isReadable(ends[0], within: 0) == isFull)
            }
            for (service, number) in lost {
                service.shutdown()
                #expect(fcntl(number, F_GETFD) != -1, "it was not closed")
            }
        }
    }
}

extension TickingTimer {
    /// Waits for the end, with a body called meanwhile. Returns whether its only reason is a descriptor that is closed.
    fileprivate func endsOnceByALostDescriptor(meanwhile body: () -> Void = {}) -> Bool {
        let hasEnded = eventually {
            body()
            return !ends.all.isEmpty
        }
        guard hasEnded, ends.all.count == 1, case .backendFailed(let error) = ends.all[0] else { return false }
        return error.errno == EBADF
    }
}
