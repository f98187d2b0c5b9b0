import Foundation
import Glibc
import PreciseTimer
import TestSupport
import TimerKernel

/// Timers on one backend, and the steps that they go through.
final class Probe {
    private var backend: TimerService.Backend
    private var clock: TimerClock
    private var delivery = PreciseTimer.Delivery.inline
    private var service: TimerService?
    /// Replaced services. They are held, so that only the fault can end them.
    private var former: [TimerService] = []
    private var timers: [(timer: TickingTimer, period: Duration)] = []
    /// How many of the timers were on a service that was shut down. If a timer's handler is running, that timer ends
    /// a little later.
    private var shutDown = 0
    private var steps: [ProbeReport.Step] = []

    init(_ backend: TimerService.Backend, _ clock: TimerClock) {
        self.backend = backend
        self.clock = clock
    }

    var report: ProbeReport {
        let reports = timers.map { ProbeReport.Timer($0.timer, every: $0.period) }
        let refused = Int(RefusedCalls.count("fault_count") ?? 0)
        return ProbeReport(steps: steps, timers: reports, refusedCalls: refused)
    }

    /// Performs one step, and records its outcome.
    func run(_ text: String) {
        tellSupervisor(step: steps.count)
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        let (cpu, start) = (Reading.cpuSeconds, Reading.seconds)
        var isMet = false
        var refusal: ProbeReport.Refusal?
        do throws(TimerError) {
            isMet = try perform(parts[0], parts.count > 1 ? parts[1] : "")
        } catch {
            refusal = ProbeReport.Refusal(error)
        }
        let (seconds, busy) = (Reading.seconds - start, Reading.cpuSeconds - cpu)
        steps.append(.init(text: text, seconds: seconds, cpuSeconds: busy, isMet: isMet, refusal: refusal))
    }

    /// Performs a step. Returns whether its condition came true.
    private func perform(_ name: String, _ value: String) throws(TimerError) -> Bool {
        switch name {
        // Starts a service in place of the former one, which goes on.
        case "service": try startService()
        // preferred, required, real-time, defaults or nothing: the same, with options. All that is asked for must be
        // obtained, if it is required or nothing. Defaults are asked for, with the values that nothing has.
        case "options": try startService(with: ServiceSteps.options(value))
        // OPTION:ADVICE: whether the service obtained all that it wants but that option, and says what would help;
        // refused: it was asked for; missing: the thread has it by default, so no refusal is told.
        case "refused", "missing":
            let parts = value.split(separator: ":", omittingEmptySubsequences: false)
            let grant = try runningService().grant
            let missing = grant.items.filter { $0.refusal != nil }
            return missing.map(\.option.rawValue) == [String(parts[0])]
                && (parts[1].isEmpty || missing[0].advice?.contains(parts[1]) == true)
                && grant.refusals == (name == "refused" ? missing : [])
        // The clock or the backend of later services.
        case "clock", "backend":
            leaveService()
            clock = TimerClock(rawValue: value) ?? clock
            backend = TimerService.Backend(rawValue: value) ?? backend
        // COUNTxMICROSECONDS: schedules periodic timers. Starts a service if no service is running.
        case "schedule": try schedule(value)
        // Later timers tick on a queue.
        case "queue": delivery = .queue(DispatchQueue(label: "probe"))
        // Schedules a timer whose target is released at once. Waits until it ends.
        case "orphan": return try ServiceSteps.endsTimerOfReleasedTarget(on: try runningService())
        // Watches the wall clock for a moment. Returns whether the watch ends then.
        case "watch": return try ServiceSteps.watchesWallClock()
        // SECONDS: whether each timerfd that is set expires within that time.
        case "expire-within":
            let timers = ProcFS.descriptors(on: "anon_inode:[timerfd]").map { ProcFS.timer($0).seconds }
            return timers.allSatisfy { (0...(Int(value) ?? 0)).contains($0) }
        // MICROSECONDS: schedules a timer that is an hour away, and then one period away, while the service's thread
        // sleeps. Waits until it ticks or ends.
        case "earlier": return try setEarlierDeadline(.microseconds(Int(value) ?? 0))
        // Cancels all timers. Returns whether none of them ticks afterwards.
        case "cancel": return cancel()
        // COUNT: waits until every timer that goes on has accounted for that many more deadlines.
        case "ticks": return awaitTicks(Int(value) ?? 0, orEnds: false)
        // COUNT: the same, but an ended timer counts, too.
        case "ticks-or-ends": return awaitTicks(Int(value) ?? 0, orEnds: true)
        // SECONDS: waits until every timer has ended.
        case "ends": return eventually(within: .seconds(Double(value) ?? 0)) { timers.allSatisfy(\.timer.hasEnded) }
        // SECONDS: lets time pass, to measure the processor time.
        case "rest": pause(.milliseconds(Int((Double(value) ?? 0) * 1000)))
        // Ends the service, so that the next schedule starts another one.
        case "shutdown":
            service?.shutdown()
            service = nil
            shutDown = timers.count
        // CALLS:ERROR:SKIPPED:TIMES, for the preloaded library.
        case "arm": return RefusedCalls.arm(value)
        case "disarm": RefusedCalls.disarm()
        // Collects the statistics of the service, and of timers that no-allocations schedules.
        case "statistics": service?.collectsStatistics = true
        // COUNT: whether that many inline ticks allocate nothing.
        case "no-allocations":
            guard let service else { return false }
            return try Allocations.areNone(service, ticks: Int(value) ?? 0)
        // Whether a child that is the first process of its own namespace, as this one is, gets the promised error.
        case "fork-into-namespace": return service.map(NamespaceChild.getsAnError) ?? false
        // Whether a service with SCHED_DEADLINE never yields, while two threads contend for its lock.
        case "deadline-never-yields": return try ServiceSteps.neverYields()
        #if RunLoop
        // Starts a service on a run loop of the host, and ends it.
        case "host-loop": try TimerService(attachedTo: .current).shutdown()
        #endif
        // Ends the main thread. The process gets SIGTERM, and a moment later SIGKILL.
        case "leave-main":
            let wait = "until grep -q '^State:.Z' /proc/$PPID/status; do sleep .02; done;"
            _ = unsafe system("(\(wait) kill -TERM $PPID; sleep .2; kill -KILL $PPID) &")
            pthread_exit(nil)
        // CODE: exits, with all timers alive.
        case "exit": exit(CInt(value) ?? 0)
        default: return SystemFault.perform(name, value)
        }
        return true
    }

    private func leaveService() {
        if let service { former.append(service) }
        service = nil
    }

    private func startService(with options: TimerService.ThreadOptions = .init()) throws(TimerError) {
        leaveService()
        service = try TimerService(backend, clock: clock, thread: options)
    }

    private func schedule(_ value: String) throws(TimerError) {
        let numbers = value.split(separator: "x").compactMap { Int($0) }
        let service = try runningService()
        let period = Duration.microseconds(numbers[1])
        for _ in 0..<numbers[0] {
            timers.append((try TickingTimer(.every(period), on: service, deliver: delivery), period))
        }
    }

    private func runningService() throws(TimerError) -> TimerService {
        if let service { return service }
        let new = try TimerService(backend, clock: clock)
        service = new
        return new
    }

    private func setEarlierDeadline(_ period: Duration) throws(TimerError) -> Bool {
        let timer = try TickingTimer(.every(period, after: .seconds(3_600)), on: try runningService())
        timers.append((timer, period))
        // The thread is asleep by now, or sets the alarm itself, which is right as well.
        pause(.milliseconds(3))
        try timer.timer.reschedule(.every(period))
        return eventually(within: .seconds(20)) { timer.accounted > 0 || timer.hasEnded }
    }

    private func cancel() -> Bool {
        let cancelled = timers.map(\.timer).filter { $0.timer.cancelAndWait() }
        let accounted = timers.map(\.timer.accounted)
        pause(.milliseconds(3))
        // Another thread calls the `onEnd` of a timer that a failure ended.
        return cancelled.allSatisfy(\.hasEnded) && eventually { timers.allSatisfy(\.timer.hasEnded) }
            && timers.map(\.timer.accounted) == accounted
    }

    private func awaitTicks(_ count: Int, orEnds: Bool) -> Bool {
        let goals = timers.dropFirst(shutDown).map(\.timer).filter { !$0.hasEnded }.map { ($0, $0.accounted + count) }
        return eventually(within: .seconds(20)) { goals.allSatisfy { $0.accounted >= $1 || orEnds && $0.hasEnded } }
    }
}

/// Faults that a process can inject into itself.
enum SystemFault {
    /// Performs a step. Returns false if the step is unknown, or if the system did not allow it.
    static func perform(_ name: String, _ value: String) -> Bool {
        switch name {
        // KIND: closes every descriptor of a kind, such as `[timerfd]`; `all` closes all above standard error.
        case "close": close(value)
        // Opens files until one gets a closed number, as a host does.
        case "reuse": return reuse()
        // Whether the files that took those numbers are still open.
        case "still-open": return unsafe Set(reused).isSubset(of: ProcFS.descriptors(on: "/dev/null"))
        // No more descriptors can be opened, or only the given number.
        case "fill":
            let free = (0..<CInt.max).lazy.filter { fcntl($0, F_GETFD) == -1 }.prefix((Int(value) ?? 0) + 1)
            Limit.descriptors.set(UInt64(free.reduce(0) { max($0, $1) }))
        case "unfill": Limit.descriptors.set(1_000)
        // Whether the kernel says of a sleeping thread that nothing holds it up.
        case "knows-sleeper":
            let setup = ThreadSetup()
            return (try? setup.startThread("sleeper") { while true { sleep(1_000) } }) != nil
                && eventually(within: .seconds(5)) { setup.holdUp() == nil }
        default: return false
        }
        return true
    }

    private nonisolated(unsafe) static var closed: Set<CInt> = []
    private nonisolated(unsafe) static var reused: [CInt] = []

    private static func close(_ kind: String) {
        let all = (3..<CInt(1_000)).filter { fcntl($0, F_GETFD) != -1 }
        for descriptor in kind == "all" ? all : ProcFS.descriptors(on: "anon_inode:\(kind)") {
            unsafe closed.insert(descriptor)
            Glibc.close(descriptor)
        }
    }

    private static func reuse() -> Bool {
        for _ in 0..<200 {
            let file = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
            if unsafe closed.contains(file) { unsafe reused.append(file) }
        }
        return unsafe !reused.isEmpty
    }
}

/// A forked child with the same process id as its parent: each is the first process of its namespace.
enum NamespaceChild {
    /// Whether a schedule on the parent's service throws the error for children. False, too, if there is no such child.
    static func getsAnError(from service: TimerService) -> Bool {
        let child = fork()
        if child == 0 {
            do {
                try PreciseTimer.schedule(.once(after: .zero), on: service, target: Thing()) { _, _ in }
                _exit(1)
            } catch { _exit(getpid() == 1 && error.code == .forked ? 0 : 1) }
        }
        var status: Int32 = 0
        while unsafe waitpid(child, &status, 0) == -1, errno == EINTR {}
        return child > 0 && getpid() == 1 && status == 0
    }

    private static func fork() -> pid_t {
        // 0x2000_0000 is CLONE_NEWPID: for the children of the caller.
        guard function("unshare", as: (@convention(c) (CInt) -> CInt).self)?(0x2000_0000) == 0 else { return -1 }
        return function("fork", as: (@convention(c) () -> pid_t).self)?() ?? -1
    }
}
