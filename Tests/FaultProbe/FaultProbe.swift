import Foundation
import Glibc
import PreciseTimer
import TestSupport

/// Runs timers on a backend through the steps of its command line, and reports what happened.
///
/// A separate program, because faults affect a whole process: calls refused by a preloaded library or by strace,
/// control groups, namespaces.
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
        else {
            FileHandle.standardError.write(Data("usage: fault-probe BACKEND CLOCK STEP…\n".utf8))
            exit(64)
        }
        alarm(Hang.seconds)
        if ProcessInfo.processInfo.environment["FAULT_PROBE_HURRY"] != nil { SupervisorClock.hurry() }
        let probe = Probe(backend, clock)
        for step in arguments.dropFirst(3) { probe.run(step) }
        SupervisorMark.setEnd()
        // The report is written at once at the end, even if a limit is still in force.
        try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(probe.report))
        exit(0)
    }
}

/// Tells a supervisor of the probe's system calls (`.ci/refusals`) which step begins.
///
/// The mark is a call that asks for the session of a process that cannot exist. Without a supervisor it fails, and has
/// no effect.
enum SupervisorMark {
    private static let first: pid_t = -1_000
    private static let end: pid_t = -999

    /// A step begins.
    static func set(_ step: Int) { _ = getsid(first - pid_t(step)) }

    /// All steps have ended.
    static func setEnd() { _ = getsid(end) }
}

/// The preloaded library that refuses calls, if the test has preloaded it.
enum RefusedCalls {
    private typealias Arm = @convention(c) (UnsafePointer<CChar>, CInt, CInt, CInt) -> Void
    private typealias Disarm = @convention(c) () -> Void
    private typealias Count = @convention(c) () -> CInt

    /// Makes calls fail from now on, as CALLS:ERROR:SKIPPED:TIMES says: `epoll_wait:9:0:1`. Returns false if the
    /// library is not loaded.
    static func arm(_ text: String) -> Bool {
        let parts = text.split(separator: ":").map(String.init)
        let numbers = parts.dropFirst().compactMap { CInt($0) }
        guard numbers.count == 3, let address = unsafe dlsym(nil, "fault_arm") else { return false }
        unsafe unsafeBitCast(address, to: Arm.self)(parts[0], numbers[0], numbers[1], numbers[2])
        return true
    }

    /// Lets all calls through again.
    static func disarm() {
        guard let address = unsafe dlsym(nil, "fault_disarm") else { return }
        unsafe unsafeBitCast(address, to: Disarm.self)()
    }

    /// How often a real-time thread has yielded the processor; nil if the library is not loaded.
    static var yields: Int? {
        guard let address = unsafe dlsym(nil, "yield_count") else { return nil }
        return unsafe Int(unsafeBitCast(address, to: Count.self)())
    }

    /// The number of failed calls.
    static var count: Int {
        guard let address = unsafe dlsym(nil, "fault_count") else { return 0 }
        return unsafe Int(unsafeBitCast(address, to: Count.self)())
    }
}
