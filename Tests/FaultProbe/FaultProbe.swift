import Foundation
import Glibc
import PreciseTimer
import TestSupport

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

/// Tells a supervisor of the probe's system calls (`.ci/refusals`) which step begins; -1 at the end.
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

/// A periodic timer, with all its ticks and endings.
final class ProbedTimer: Sendable {
    private let log = Log()
    private let running = Count()
    private let overlaps = Count()
    private let ends = Notes<String>()
    private let failures = Notes<String>()
    private let period: Duration
    let handle: PreciseTimer

    init(
        every period: Duration,
        after delay: Duration? = nil,
        _ policy: PreciseTimer.MissedTickPolicy,
        deliver: PreciseTimer.Delivery = .inline,
        on service: TimerService
    ) throws(TimerError) {
        self.period = period
        let (ends, failures, running, overlaps) = (ends, failures, running, overlaps)
        handle = try PreciseTimer.schedule(
            .every(period, after: delay),
            on: service,
            missedTicks: policy,
            deliver: deliver,
            target: log,
            onEnd: { reason in
                guard case .backendFailed(let error) = reason else { return ends.append("\(reason)") }
                failures.append(error.description)
                ends.append(error.code.name)
            },
            handler: { log, tick in
                if running.add(1) > 1 { overlaps.add(1) }
                log.note(tick)
                running.add(-1)
            }
        )
    }

    var hasEnded: Bool { !ends.all.isEmpty }

    /// The number of deadlines that the ticks stand for.
    var accounted: UInt64 { log.ticks.last.map { UInt64($0.index + 1 + $0.missed) } ?? 0 }

    var report: ProbeReport.Timer {
        let ticks = log.ticks
        let told = ticks.map { tick in
            let (index, missed, deadline) = (UInt64(tick.index), UInt64(tick.missed), tick.deadline.nanoseconds)
            let (woke, delivered) = (tick.woke.nanoseconds, tick.delivered.nanoseconds)
            return ProbeReport.Tick(index: index, missed: missed, deadline: deadline, woke: woke, delivered: delivered)
        }
        let flaw = ticks.first.flatMap { ticks.flaw(from: $0.deadline, every: period) }
        let overlap = overlaps.value > 0 ? "two handlers at once" : nil
        return ProbeReport.Timer(ticks: told, ends: ends.all, failures: failures.all, flaw: overlap ?? flaw)
    }
}
