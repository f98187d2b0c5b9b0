import Foundation
import Glibc
import PreciseTimer
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

/// A wall clock past the last instant that Dispatch can wait for: in 2116. It would take each later one for past.
@Suite(.waits("timers on a wall clock that is set"), .timeLimit(.minutes(60))) struct LateWallClockTests {
    @Test func dispatchCanWaitUntilItsLastInstantHasCome() {
        let last = DispatchAlarm.last
        for clock in DispatchAlarm.clocks {
            let errors = [0, last - 1, last, UInt64.max]
                .map { DispatchAlarm.error(.unavailable, at: TimerInstant(nanoseconds: $0, clock: clock))?.code }
            #expect(errors == [nil, nil, .unavailable, .unavailable])
        }
    }

    /// A hundred years from now on.
    private static let late = "arm=wall_clock:0:0:1"

    @Test(.canRefuse) func aRunningServiceFailsThereAndDoesNotSpinAndAnotherDoesNotStart() async throws {
        let steps = ["schedule=2x10000", "ticks=5", Self.late, "ends=10", "rest=0.3", "service"]
        let run = try await Probe.run(.dispatch, steps, on: .wall, under: .preload())
        let timers = run.report?.timers ?? []
        #expect(timers.map(\.ends) == [["backend failed"], ["backend failed"]] && run.isIdle, "\(run)")
        #expect(timers.compactMap(\.flaw) == [] && run.refusals.map(\.code) == ["unavailable"], "\(run)")
        for text in timers.flatMap(\.failures) + run.refusals.map(\.text) { #expect(text.contains("2116"), "\(text)") }
    }
}

#if RunLoop
/// A kernel without high-resolution timers: the clock's resolution is a tick of the kernel, here 4 ms.
@Suite(.waits("timers of the kernel"), .timeLimit(.minutes(60))) struct CoarseClockTests {
    /// Foundation takes the resolution for the length of its unit of time, so its own timers stand still. It asks for
    /// the resolution when it is loaded.
    @Test(.canRefuse, arguments: Backend.available)
    func onlyARunLoopMindsTheResolutionAndRefusesToStart(backend: Backend) async throws {
        var means = try Probe.Means.preload()
        means.environment["FAULT_RESOLUTION"] = "4000000"
        let steps = backend == .runLoop ? ["service", "host-loop"] : ["schedule=1x5000", "ticks=5"]
        let run = try await Probe.run(backend, steps, under: means)
        guard backend == .runLoop else { return #expect(run.trouble(ticks: 5) == nil && run.worksInTheEnd, "\(run)") }
        #expect(run.report?.steps.map { $0.refusal?.code } == ["unavailable", "unavailable"], "\(run)")
        #expect(run.report?.steps.allSatisfy { $0.seconds < 1 } == true, "\(run)")
        for refusal in run.refusals {
            #expect(["4 ms", "highres=on", "timerfd"].filter { !refusal.text.contains($0) } == [], "\(refusal.text)")
        }
    }
}
#endif

/// What a process gets of its thread options, even without rights.
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
        #expect(run.isMet(all: steps), "\(run)")
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
            #expect(run.isMet(all: steps), "\(run)")
        }
    }

    /// The kernel would end a process whose real-time thread spins beyond the limit.
    @Test func spinningBeyondTheLimitOfRealTimeThreadsIsRefused() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            Limit.realTime.set(200_000)
            let long = TimerService.SpinOptions(maximum: .milliseconds(500), budget: 0.9)
            let options = [Options(policy: .fifo(priority: 1)), Options(policy: .roundRobin(priority: 1))]
            for options in options {
                let error = #expect(throws: TimerError.self) {
                    try TimerService(.hybrid, thread: options, spin: long)
                }
                #expect(error?.code == .invalidOption && error?.attempted.contains("RLIMIT_RTTIME") == true)
            }
            // Refused or not, the usual options are far below the limit, and only a real-time thread has one.
            _ = (try TimerService(.hybrid, thread: options[0]), try TimerService(.hybrid, spin: long))
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

    /// A yield would end the thread's time until its next period.
    @Test(.canRefuse, .enabled(if: ProcFS.maySchedule, "needs CAP_SYS_NICE"))
    func aServiceWithADeadlinePolicyNeverYieldsTheProcessor() async throws {
        let run = try await Probe.run(.timerFD, ["deadline-never-yields"], under: .preload())
        #expect(run.outcome.code == 0 && run.isMet("deadline-never-yields"), "\(run)")
    }

    @Test(.enabled(if: ProcFS.mayLockMemory, "needs CAP_IPC_LOCK"))
    func memoryIsLockedAsItIsTouched() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            let service = try TimerService(.timerFD, thread: Options(locksMemory: true))
            #expect(service.grant.refusals == [])
            #expect(try TickingTimer(on: service).ticks(5))
            let locked = try #require(ProcFS.field("VmLck:", of: "/proc/self/status"))
            #expect(!locked.hasPrefix("0 "), "\(locked)")
            // Reserved addresses are not filled.
            #expect(ProcFS.residentBytes < 1 << 29)
        }
    }
}

/// The lock on a kernel that refuses, in a forked child, and after the end of a thread that held it.
@Suite(.waits("threads contend for a lock whose calls are refused"), .timeLimit(.minutes(60))) struct LockFaultTests {
    @Test func eachErrorHasItsMeaning() {
        let later = [EINTR, EAGAIN, ENOSYS, ENOMEM, EPERM, EACCES, EINVAL, EFAULT, ETIMEDOUT]
        let locking = [0, EDEADLK, ESRCH, EOWNERDEAD] + later
        let answers = [LockAnswer.done, .takenTwice, .ownerEnded, .ownerEnded] + later.map { _ in .later }
        #expect(locking.map(LockAnswer.init(toLocking:)) == answers)
    }

    private func expect(_ result: ExitTest.Result?, says reason: String) {
        let text = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
        #expect(text.contains(reason), "\(text)")
    }

    @Test func aLockThatIsTakenTwiceEndsTheProcessWithTheReason() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            endIfHung()
            let mutex = Mutex()
            mutex.acquire()
            mutex.acquire()
        }
        expect(result, says: "taken twice on one thread")
    }

    #if compiler(>=6.3)
    @Test(arguments: [ENOSYS, EPERM, ENOMEM, EAGAIN, EINTR])
    func aLockWorksIfTheKernelRefusesEachWait(error: CInt) async {
        await #expect(processExitsWith: .success) { [error] in
            endIfHung()
            try #require(Sandbox.refuse(futex: Sandbox.lock, error))
            let count = Lock(0)
            try onThreads(4) { _ in
                for _ in 0..<20 {
                    count.withLock {
                        $0 += 1
                        pause(.milliseconds(1))
                    }
                }
            }
            #expect(count.withLock { $0 } == 80)
        }
    }

    /// Only the holder's thread is in the sandbox, so another thread can wait.
    @Test(arguments: [ENOSYS, EPERM])
    func aKernelThatNeverReleasesALockEndsTheProcessWithTheReason(error: CInt) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [error] in
            endIfHung()
            let (lock, isHeld) = (Lock(0), Gate())
            try TimerKernel.Thread.start("test.holder") {
                guard Sandbox.refuse(futex: Sandbox.unlock, error) else { return }
                lock.withLock { _ in
                    isHeld.open()
                    // Until the other thread waits.
                    pause(.seconds(1))
                }
            }
            isHeld.pass()
            lock.withLock { $0 += 1 }
        }
        expect(result, says: "the kernel does not release a lock")
    }

    /// Another thread waits for it at that moment, or comes later.
    @Test(arguments: [false, true])
    func theEndOfAThreadWithALockEndsTheProcessWithTheReason(isLater: Bool) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [isLater] in
            endIfHung()
            let (mutex, thread) = (Mutex(), Box<Int32>())
            try TimerKernel.Thread.start("test.ends") {
                mutex.acquire()
                thread.value = ProcFS.callingThread
                pause(isLater ? .zero : .milliseconds(50))
                TimerKernel.Thread.end()
            }
            #expect(eventually { thread.value != nil })
            let file = "/proc/self/task/\(thread.value ?? 0)"
            if isLater { #expect(eventually { !FileManager.default.fileExists(atPath: file) }) }
            mutex.acquire()
        }
        expect(result, says: "a thread ended while it held a lock")
    }

    /// A signal handler may fork at such a moment, and return in the child. A thread of the parent waits for the lock.
    @Test(arguments: Fork.kinds)
    func aChildForkedDuringAHoldGoesOnAndLeavesTheLockToTheParent(kind: String) async {
        await #expect(processExitsWith: .success) { [kind] in
            endIfHung()
            let lock = Lock(0)
            let child = try lock.withLock { _ in
                try TimerKernel.Thread.start("test.waiter") { lock.withLock { $0 += 1 } }
                pause(.milliseconds(50))
                return Fork.fork(by: kind)
            }
            if child == 0 { _exit(lock.isOfAnotherProcess ? 0 : 1) }
            #expect(Fork.exitCode(of: child) == 0)
            #expect(eventually { lock.withLock { $0 } == 1 })
        }
    }

    /// The thread that forks has another number in the child. With the old one, the kernel would take a thread of the
    /// parent for the holder, and refuse the release.
    @Test(arguments: Fork.kinds)
    func threadsOfAForkedChildContendForALockOfItsOwn(kind: String) async {
        await #expect(processExitsWith: .success) { [kind] in
            endIfHung()
            let parents = Lock(0)
            parents.withLock { $0 += 1 }
            let code = Fork.outcome(by: kind) {
                let (lock, isWaiting) = (Lock(0), Gate())
                lock.withLock { _ in
                    try? TimerKernel.Thread.start("test.waiter") {
                        isWaiting.open()
                        lock.withLock { $0 += 1 }
                    }
                    isWaiting.pass()
                    usleep(20_000)
                }
                // A child has no threads for tasks.
                return eventually(within: .seconds(30)) { lock.withLock { $0 } == 1 } ? 0 : 1
            }
            #expect(code == 0)
            #expect(parents.withLock { $0 } == 1)
        }
    }
    #endif
}

/// A filter of system calls for the calling thread, and for threads that it starts later (seccomp(2)).
private enum Sandbox {
    #if arch(x86_64)
    private static let call: UInt64 = 202
    #else
    private static let call: UInt64 = 98
    #endif
    /// FUTEX_LOCK_PI and FUTEX_UNLOCK_PI.
    static let (lock, unlock): (UInt64, UInt64) = (6, 7)

    /// Lets the kernel refuse one operation of futex(2) with an error. Returns whether it does from now on.
    static func refuse(futex operation: UInt64, _ error: CInt) -> Bool {
        // Instructions of the classic BPF: a code, two distances to jump, and a number.
        func instruction(_ code: UInt64, _ number: UInt64, otherwise distance: UInt64 = 0) -> UInt64 {
            code | distance << 24 | number << 32
        }
        let filter = [
            // The number of the call.
            instruction(0x20, 0), instruction(0x15, call, otherwise: 4),
            // The lower half of its second argument, without the flags.
            instruction(0x20, 24), instruction(0x54, 0x7f), instruction(0x15, operation, otherwise: 1),
            // The answer: SECCOMP_RET_ERRNO or SECCOMP_RET_ALLOW.
            instruction(0x06, 0x5_0000 | UInt64(error)), instruction(0x06, 0x7fff_0000),
        ]
        typealias Call = @convention(c) (Int, Int, Int, Int, Int, Int, Int) -> Int
        let (prctl, syscall) = (function("prctl", as: Call.self), function("syscall", as: Call.self))
        let (noNewPrivileges, setFilter) = (38, 22)
        unsafe filter.withUnsafeBufferPointer { filter in
            var program = (filter.count, Int(bitPattern: filter.baseAddress))
            unsafe withUnsafePointer(to: &program) { program in
                _ = prctl?(noNewPrivileges, 1, 0, 0, 0, 0, 0)
                _ = prctl?(setFilter, 2, Int(bitPattern: program), 0, 0, 0, 0)
            }
        }
        var word: UInt64 = 0
        return unsafe withUnsafeMutablePointer(to: &word) { word in
            syscall?(Int(call), Int(bitPattern: word), Int(operation), 0, 0, 0, 0) == -1 && errno == error
        }
    }
}
