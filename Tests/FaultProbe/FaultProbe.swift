import Foundation
import Glibc
import PreciseTimer
import Synchronization
import TestSupport
import TimerKernel

/// Runs timers on a backend through the steps of its command line, and reports what happened.
///
/// A separate program, because faults affect a whole process: calls refused by a preloaded library or by strace,
/// namespaces.
///
/// ```
/// fault-probe BACKEND CLOCK STEP…
/// ```
///
/// It ends with SIGALRM if it hangs. `Probe.perform` describes the steps. With the variable
/// `FAULT_PROBE_HURRY`, the supervisor's seconds pass ten times as fast.
@main enum FaultProbe {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 3,
            let backend = TimerService.Backend(rawValue: arguments[1]),
            let clock = TimerClock(rawValue: arguments[2])
        else { fatalError("usage: fault-probe BACKEND CLOCK STEP…") }
        alarm(Hang.seconds)
        if ProcessInfo.processInfo.environment["FAULT_PROBE_HURRY"] != nil { SupervisorClock.hurry() }
        let probe = Probe(backend, clock)
        for step in arguments.dropFirst(3) { probe.run(step) }
        tellSupervisor(step: -1)
        // The report is written at once at the end, even if a limit is still in force.
        try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(probe.report))
        exit(0)
    }
}

/// Tells a supervisor of the probe's system calls (`Tests/Refusals`) which step begins; -1 at the end.
///
/// The call asks for the session of a process that cannot exist. Without a supervisor it fails, and has no effect.
func tellSupervisor(step: Int) { _ = getsid(-1_000 - pid_t(step)) }

/// The preloaded library that refuses calls, if the test has preloaded it.
enum RefusedCalls {
    /// Makes calls fail from now on, as CALLS:ERROR:SKIPPED:TIMES says: `epoll_wait:9:0:1`. Returns false if the
    /// library is not loaded.
    static func arm(_ text: String) -> Bool {
        typealias Arm = @convention(c) (UnsafePointer<CChar>, CInt, CInt, CInt) -> Void
        let parts = text.split(separator: ":").map(String.init)
        let numbers = parts.dropFirst().compactMap { CInt($0) }
        guard numbers.count == 3 else { return false }
        return unsafe function("fault_arm", as: Arm.self)?(parts[0], numbers[0], numbers[1], numbers[2]) != nil
    }

    /// Lets all calls through again.
    static func disarm() { function("fault_disarm", as: (@convention(c) () -> Void).self)?() }

    /// What the library counts: failed calls, or yields of a real-time thread; nil if it is not loaded.
    static func count(_ name: String) -> CInt? { function(name, as: (@convention(c) () -> CInt).self)?() }
}

extension ProbeReport.Timer {
    /// Of a timer with a fixed period, which has a tick for all deadlines that have passed.
    init(_ timer: TickingTimer, every period: Duration) {
        let (ticks, ends) = (timer.log.ticks, timer.ends.all)
        let failures = ends.compactMap { if case .backendFailed(let error) = $0 { error } else { nil } }
        let flaw =
            timer.overlaps.value > 0
            ? "two handlers at once"
            : ticks.first.flatMap { ticks.flaw(from: $0.deadline, every: period) }
                ?? ticks.lazy.compactMap { Self.miscount($0, period) }.first
        self.init(
            ticks,
            ends: ends.map { if case .backendFailed(let error) = $0 { error.code.name } else { "\($0)" } },
            failures: failures.map(\.description),
            flaw: flaw
        )
    }

    /// What is wrong with the number of deadlines that a tick stands for.
    private static func miscount(_ tick: PreciseTimer.Tick, _ period: Duration) -> String? {
        let last = tick.deadline.advanced(by: period * tick.missed)
        if last > tick.delivered { return "tick \(tick.index) stands for a deadline that had not passed" }
        let isShort = last.advanced(by: period) <= tick.woke
        return isShort ? "tick \(tick.index) does not stand for all deadlines that had passed" : nil
    }
}

/// Steps that use a service in other ways than periodic timers do.
enum ServiceSteps {
    /// Thread options that ask the system for something; "" for nothing. Those that need a right are only preferred.
    static func options(_ demand: String) -> TimerService.ThreadOptions {
        var options = TimerService.ThreadOptions(demand: .required)
        if demand == "" { return options }
        if demand == "real-time" { return .realTime(priority: 1) }
        if demand == "defaults" { return .init(timerSlack: .nanoseconds(1), slice: .microseconds(100)) }
        (options.affinity, options.timerSlack) = ([0], .microseconds(2))
        if demand == "required" { return options }
        (options.policy, options.locksMemory, options.demand) = (.fifo(priority: 1), true, .preferred)
        // Limits no processor.
        options.idleLatency = .seconds(1)
        return options
    }

    /// Whether a timer with a released target and a far deadline ends.
    static func endsTimerOfReleasedTarget(on service: TimerService) throws(TimerError) -> Bool {
        let (ends, far) = (Count(), PreciseTimer.Schedule.once(after: .seconds(3_600)))
        try PreciseTimer.schedule(far, on: service, target: Thing(), onEnd: { _ in ends.add(1) }, handler: { _, _ in })
        return eventually(within: .seconds(20)) { ends.value > 0 }
    }

    /// Whether a watch of the wall clock ends when it is told to. Throws the watch's own error.
    static func watchesWallClock() throws(TimerError) -> Bool {
        let failures = Notes<TimerError>()
        weak var released: WallClockWatch?
        do {
            let watch = try WallClockWatch()
            released = watch
            try watch.start(onCheck: { _ in }, onFailure: failures.append)
            pause(.milliseconds(3))
            watch.stop()
        }
        // The watch's thread holds it until the thread ends.
        let ends = eventually(within: .seconds(20)) { released == nil }
        if let failure = failures.all.first { throw failure }
        return ends
    }

    /// Whether the thread of a service with SCHED_DEADLINE never yields the processor, which would give the rest of its
    /// period away, while two threads contend for its lock. False, too, if the preloaded library does not count that,
    /// or the system refuses the policy.
    static func neverYields() throws(TimerError) -> Bool {
        let (runtime, period) = (Duration.milliseconds(100), Duration.milliseconds(500))
        let options = TimerService.ThreadOptions(policy: .deadline(runtime: runtime, deadline: period, period: period))
        let service = try TimerService(.timerFD, thread: options)
        guard RefusedCalls.count("yield_count") == 0, service.grant.refusals.isEmpty else { return false }
        let log = Log()
        try PreciseTimer.schedule(.every(.microseconds(200)), on: service, target: log) { $0.note($1) }
        let end = Reading.seconds + 2
        try? onThreads(2) { _ in
            while Reading.seconds < end {
                _ = try? PreciseTimer.schedule(.once(after: .seconds(60)), on: service, target: log) { _, _ in }
                    .cancel()
            }
        }
        return RefusedCalls.count("yield_count") == 0 && log.count > 0
    }
}

/// A thread's allocations, counted by the preloaded library.
enum Allocations {
    /// Whether the inline ticks of a thousand timers allocate nothing on the delivering thread, once each timer has
    /// ticked a few times. Some handlers are slow.
    static func areNone(_ service: TimerService, ticks: Int) throws(TimerError) -> Bool {
        // The library is loaded and counts. The compiler would remove an allocation whose result is not used.
        let before = count
        if let directory = unsafe opendir("/") { unsafe closedir(directory) }
        guard let before, let after = count, after > before else { return false }
        let target = Target(counting: ticks)
        for _ in 0..<1_000 {
            let timer = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: target) { $0.tick($1) }
            timer.collectsStatistics = service.collectsStatistics
        }
        while target.number.load(ordering: .acquiring) <= target.end { usleep(1_000) }
        return target.allocations.load(ordering: .relaxed) == 0
    }

    /// Found once, because that allocates.
    private static let counter = function("allocation_count", as: (@convention(c) () -> Int).self)
    private static var count: Int? { counter?() }

    /// Counts the allocations between two of the timers' ticks.
    private final class Target: Sendable {
        let start, end: Int
        let number = Atomic(0)
        let allocations = Atomic(0)

        init(counting ticks: Int) { (start, end) = (20_000, 20_000 + ticks) }

        func tick(_: PreciseTimer.Tick) {
            let number = number.load(ordering: .relaxed)
            if number == start { allocations.subtract(Allocations.count ?? 0, ordering: .relaxed) }
            if number == end { allocations.add(Allocations.count ?? -1, ordering: .relaxed) }
            // Longer than a period.
            let rest = number > start && number.isMultiple(of: 5_000) ? Reading.seconds + 0.002 : 0
            while Reading.seconds < rest {}
            self.number.store(number + 1, ordering: .releasing)
        }
    }
}
