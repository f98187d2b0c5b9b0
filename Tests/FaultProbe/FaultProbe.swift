import Foundation
import Glibc
import PreciseTimer
import TestSupport

/// Runs timers on a backend through the steps of its command line, and reports what happened.
///
/// A program of its own, because faults are brought upon a whole process: calls refused by a preloaded library or by
/// strace, control groups, namespaces.
///
/// ```
/// fault-probe BACKEND CLOCK SECONDS STEP…
/// ```
///
/// It ends by SIGALRM if it runs longer than SECONDS. The steps are described in `Probe.perform`.
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
        // All at once: the report is the last thing, also where a limit is still in force.
        try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(probe.report))
        exit(0)
    }
}
