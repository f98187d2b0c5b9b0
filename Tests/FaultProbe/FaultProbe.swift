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
/// fault-probe BACKEND CLOCK SECONDS STEP…
/// ```
///
/// It ends with SIGALRM if it runs longer than SECONDS. `Probe.perform` describes the steps.
@main enum FaultProbe {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 4,
            let backend = TimerService.Backend(rawValue: arguments[1]),
            let clock = TimerClock(rawValue: arguments[2]),
            let limit = UInt32(arguments[3])
        else {
            FileHandle.standardError.write(Data("usage: fault-probe BACKEND CLOCK SECONDS STEP…\n".utf8))
            exit(64)
        }
        alarm(limit)
        let probe = Probe(backend, clock)
        for step in arguments.dropFirst(4) { probe.run(step) }
        SupervisorMark.setEnd()
        // The report is written at once at the end, even if a limit is still in force.
        try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(probe.report))
        exit(0)
    }
}
