import Glibc
import PreciseTimer
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

/// Failing calls and closed descriptors under running timers: each timer ends once with the failure, or goes on as
/// before, and no thread spins.
@Suite(.waits("the kernel refuses a call of a running alarm"), .timeLimit(.minutes(60))) struct RunningFailureTests {
    private static let running = ["schedule=3x10000", "ticks=5"]
    /// Afterwards, without the fault, a new service works, or reports that it does not.
    private static let again = ["disarm", "shutdown", "schedule=1x10000", "ticks-or-ends=5"]
    private static let own: [Backend] = [.timerFD, .hybrid, .libevent]

    /// Calls that fail for ever, once timers are running; the first are all calls in which a backend may wait.
    private static let failures: [(Backend, String, Int32)] = Backend.available.flatMap { backend in
        var failures = [(backend, waits, EBADF)]
        if backend != .dispatch { failures += [(backend, waits, EINVAL), (backend, "timerfd_settime", EINVAL)] }
        // The loop itself fails, although its timer could still be read; or the other way round.
        if backend == .libevent { failures += [EBADF, EINVAL].map { (backend, loops, $0) } }
        if own.contains(backend) { failures.append((backend, "read", EINVAL)) }
        return failures
    }
    private static let loops = "epoll_wait,epoll_pwait,epoll_pwait2"
    private static let waits = loops + ",poll,ppoll,read"

    @Test(.canRefuse, arguments: failures)
    func aCallThatFailsForeverEndsTheTimers(backend: Backend, calls: String, error: Int32) async throws {
        let steps = Self.running + ["arm=\(calls):\(error):0:1000000000", "ends=15", "rest=0.3"] + Self.again
        let run = try await Probe.run(backend, steps, under: .preload(), hurried: true)
        // libdispatch takes this for a descriptor that the program closed, and traps, without code of the library.
        if backend == .dispatch && error == EBADF { return #expect(run.outcome.signal == SIGILL, "\(run)") }
        #expect(run.silence(ticks: 5) == nil && run.isMet("ends"), "\(run)")
        #expect(run.report?.timers.prefix(3).map(\.ends.count) == [1, 1, 1], "\(run)")
        // The service's own thread reports the failure, and not the watchdog, which takes seconds.
        let texts = run.report?.timers.flatMap(\.failures) ?? []
        let isOwn = !texts.isEmpty && texts.allSatisfy { (text: String) in !text.contains("did not fire") }
        #expect(isOwn || !Self.own.contains(backend) || calls == "timerfd_settime", "\(texts)")
        #expect(run.isIdle, "\(run)")
    }

    /// The kernel does not tell a thread that sleeps in `read`.
    @Test func theWatchOfTheWallClockEndsIfItsDescriptorIsClosedFromOutside() async {
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

    /// libdispatch and Foundation trap, or spin, if their epoll is another file, without code of the library.
    private static let closings: [(Backend, String)] = Backend.available.flatMap { backend in
        (own.contains(backend) ? ["[timerfd]", "[eventpoll]", "[eventfd]", "all"] : ["[timerfd]"]).map { (backend, $0) }
    }

    /// Another part of the program closes the descriptors, and opens files that get their numbers.
    @Test(arguments: closings)
    func descriptorsClosedFromOutsideEndTheTimersAndCloseNoOtherFile(backend: Backend, kind: String) async throws {
        let starts = ["schedule=1x10000", "ticks-or-ends=5", "shutdown"]
        let steps = ["close=\(kind)", "reuse", "ticks-or-ends=20", "rest=0.3", "shutdown", "rest=0.3", "still-open"]
        let run = try await Probe.run(backend, Self.running + steps + starts, hurried: true)
        // Some backends have no descriptor of that kind, and go on.
        #expect(run.silence(ticks: 5) == nil && run.isMet("ticks-or-ends") && run.isIdle, "\(run)")
        // libdispatch's descriptors are closed, but it keeps their numbers. The trial at a start notices this, unless
        // a busy machine shows it each of the trial's timers only when that timer is due. Then the service fails
        // later, or the next start notices it.
        let failures = run.report?.timers.dropFirst(3).flatMap(\.failures) ?? []
        #expect(backend != .dispatch || !run.refusals.isEmpty || !failures.isEmpty, "\(run)")
        // A limitation: in the end, libevent closes its eventfd by number, and Foundation all of a loop's descriptors.
        let isLimited = backend == .runLoop || backend == .libevent && kind == "[eventfd]"
        #expect(isLimited || !run.isMet("reuse") || run.isMet("still-open"), "a file of the host was closed: \(run)")
    }
}

/// Sets a timer of the kernel from outside; 0 disarms it.
private func set(_ timer: CInt, nanoseconds: UInt64) {
    typealias Set = @convention(c) (CInt, CInt, UnsafeRawPointer, UnsafeMutableRawPointer?) -> CInt
    _ = unsafe function("timerfd_settime", as: Set.self)?(timer, 0, [0, 0, 0, nanoseconds], nil)
}

// Swift Testing hands values to an exit test since Swift 6.3.
#if compiler(>=6.3)
/// The kernel's timer of an alarm never expires.
@Suite(.waits("the watchdog notices it"), .timeLimit(.minutes(60))) struct LostTimerTests {
    /// As a process finds it that is restored from a checkpoint.
    @Test(arguments: Backend.available)
    func timersTickOnIfSomethingOutsideDisarmsTheKernelsTimer(backend: Backend) async {
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
            #expect(timer.ticks(100) && timer.losesNothing)
            #expect(
                timer.log.ticks.suffix(50).contains { $0.missed == 0 },
                "it ticks more often than the watchdog looks"
            )
            #expect(timer.ends.all == [])
        }
    }
}
#endif

/// A part of the program closes a descriptor that is not its own.
@Suite(.waits("the kernel gives a closed number to the next descriptor")) struct StrayCloseTests {
    // Swift Testing hands values to an exit test since Swift 6.3.
    #if compiler(>=6.3)
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
            #expect(eventually { lost.ends.all.count == 1 })
            guard case .backendFailed(let error) = lost.ends.all.first else { fatalError("\(lost.ends.all)") }
            #expect(error.errno == EBADF)
            #expect(second.ticks(20))
            first.shutdown()
            #expect(second.ticks(20) && second.losesNothing, "its descriptor was not closed")
        }
    }

    #endif
}

/// An alarm whose thread sleeps by a time-out, as a real-time thread on a kernel with PREEMPT_RT.
@Suite(.waits("a thread sleeps by a time-out"), .timeLimit(.minutes(60))) struct TimeOutTests {
    private static func newAlarm(_ clock: TimerClock) throws -> (alarm: TimerFDAlarm, timer: CInt, event: CInt) {
        // Dispatch would open its own event at any moment.
        DispatchDescriptors.open()
        let event = "anon_inode:[eventfd]"
        let known = ProcFS.descriptors(on: event)
        let (alarm, timers) = try newTimers { try TimerFDAlarm(clock, sleepsByTimeOut: true) }
        let events = ProcFS.descriptors(on: event).filter { !known.contains($0) }
        return (alarm, try #require(timers.first), try #require(events.first))
    }

    /// A time-out does not hear that the wall clock is set, or that the machine was suspended. A timer of the kernel
    /// does: it expires then (TFD_TIMER_CANCEL_ON_SET), and so here by another setting. An alarm that hears it sets the
    /// timer anew.
    @Test func theThreadHearsThatItsTimerExpires() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            for clock in [TimerClock.wall, .continuous] {
                let (alarm, timer, _) = try Self.newAlarm(clock)
                try alarm.start(onFire: {}, onFailure: { fatalError("\($0)") })
                try alarm.set(alarm.now.advanced(by: .seconds(3_600)))
                // The flags: an absolute instant, and TFD_TIMER_CANCEL_ON_SET.
                // The thread also wakes once a minute, to find a closed descriptor.
                let isSet = {
                    let (seconds, flags) = ProcFS.timer(timer)
                    return (1...60).contains(seconds) && flags == (clock == .wall ? 3 : 1)
                }
                for _ in 0..<3 {
                    try #require(eventually(isSet), "\(clock): \(ProcFS.timer(timer))")
                    set(timer, nanoseconds: 1)
                }
                try #require(eventually(isSet), "\(clock): \(ProcFS.timer(timer))")
                alarm.stop()
            }
        }
    }

    /// What wakes the thread is written to.
    @Test func aFileThatGetsTheNumberOfItsEventDescriptorIsNotWrittenTo() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            let (alarm, _, number) = try Self.newAlarm(.suspending)
            let service = try TimerService(alarm: alarm)
            let far = try TickingTimer(.every(.milliseconds(50)), on: service)
            var ends: [CInt] = [0, 0]
            #expect(unsafe pipe(&ends) == 0 && dup2(ends[1], number) == number)
            // Each of these is earlier than the deadline for which the thread sleeps.
            let hasEnded = eventually {
                _ = try? PreciseTimer.schedule(.once(after: .zero), on: service, target: far.log) { _, _ in }
                return far.ends.all.count == 1
            }
            #expect(hasEnded)
            guard case .backendFailed(let error) = far.ends.all.first else { fatalError("\(far.ends.all)") }
            #expect(error.errno == EBADF)
            #expect(!Poll.isReadable(ends[0], within: 0))
            service.shutdown()
            #expect(fcntl(number, F_GETFD) != -1, "it was not closed")
        }
    }
}

/// Waits that end early without cause: no tick is early, lost or invented.
@Suite(.waits("signals end the waits of real threads"), .timeLimit(.minutes(60))) struct InterruptionTests {
    /// Every second call fails with EINTR (4) or EAGAIN (11).
    private static let storms = [
        "arm=epoll_wait,epoll_pwait,epoll_pwait2,poll,ppoll:4:0:0", "arm=read:4:0:0", "arm=read:11:0:0",
    ]

    @Test(.canRefuse, arguments: Backend.available, storms)
    func aHundredTicksComeDespiteAStormOfInterruptions(backend: Backend, storm: String) async throws {
        // Foundation waits for edges. If it gets EAGAIN although data is present, it loses a wake-up; a real kernel
        // never does that. The watchdog notices it and ends the timers.
        let isLost = backend == .runLoop && storm == "arm=read:11:0:0"
        let steps = [storm, "schedule=1x2000", "ticks-or-ends=100"]
        let run = try await Probe.run(backend, steps, under: .preload(), hurried: isLost)
        #expect((isLost ? run.silence(ticks: 100) : run.trouble(ticks: 100)) == nil && run.isMet(storm), "\(run)")
    }

    /// In a time namespace, all clocks but the wall clock are shifted, each by its own amount, for deadlines and
    /// readings alike. So a confusion of two clocks becomes visible.
    @Test(
        .enabled(if: Tools.succeeds(["unshare", "-T", "true"]), "needs the right to make a time namespace"),
        arguments: Backend.available,
        [864_000, -60]
    )
    func timersTickInATimeNamespace(backend: Backend, seconds: Int) async throws {
        let shifts: [TimerClock: Int] = [.suspending: seconds, .continuous: seconds + 36_000]
        let unshare = ["unshare", "-T", "--monotonic", "\(seconds)", "--boottime", "\(seconds + 36_000)"]
        for clock in TimerClock.allCases where backend.clocks.contains(clock) {
            let steps = ["schedule=3x10000", "ticks=20"]
            let run = try await Probe.run(backend, steps, on: clock, under: Probe.Means(command: unshare))
            #expect(run.trouble(ticks: 20) == nil, "\(run)")
            let first = try #require(run.report?.timers.first?.ticks.first)
            guard let expected = shifts[clock] else { continue }
            let shift = Int(first / 1_000_000_000) - Int(clock.now.nanoseconds / 1_000_000_000)
            #expect(abs(shift - expected) < 600, "the namespace shifts the \(clock) clock")
        }
    }
}
