import Foundation
import PreciseTimer
import TestSupport
import Testing

/// The built `fault-probe`, run as a child, with a means to inject faults.
enum Probe {
    /// The means to inject faults into a run.
    struct Means: Sendable {
        /// The command that runs the probe.
        var command: [String] = []
        var environment: [String: String] = [:]

        /// No fault.
        static let none = Means()

        /// A call fails in all threads, from the start: `CALL:error=E`, as for strace's inject. Its `when` counts the
        /// calls of each thread separately.
        static func strace(_ injection: String) -> Means {
            // strace can inject only into calls that it also traces.
            let call = injection.prefix { $0 != ":" }
            let options = ["-e", "trace=\(call)", "-e", "inject=\(injection)"]
            return Means(command: ["strace", "-f", "-qq", "-o", "/dev/null"] + options)
        }

        /// Calls fail while the probe has armed a fault.
        static func preload() throws -> Means {
            Means(environment: ["LD_PRELOAD": try #require(Tools.refusingLibrary)])
        }
    }

    /// A finished run.
    struct Run: Sendable, CustomStringConvertible {
        let outcome: Child.Outcome
        /// The probe's report; nil if the probe did not finish.
        let report: ProbeReport?

        var description: String {
            let steps = report?.steps
                .map { step in
                    "\(step.text) \(step.isMet) \(Int(step.seconds * 1000)) ms, CPU \(Int(step.cpuSeconds * 1000)) ms"
                        + (step.refusal.map { " [\($0.text)]" } ?? "")
                }
            let ends = report?.timers.map { "\($0.ticks.count) ticks, ends \($0.ends), flaw \($0.flaw ?? "none")" }
            return "\(outcome); \(steps ?? []); \(ends ?? [])"
        }
    }

    /// Runs the probe with timers on a backend; the probe's own `Probe.perform` describes the steps.
    ///
    /// - Parameters:
    ///   - backend: the backend of the timers.
    ///   - steps: the probe's steps.
    ///   - clock: the clock of their deadlines.
    ///   - means: the means to inject faults.
    ///   - seconds: the time after which the probe ends itself with SIGALRM.
    ///   - isAlone: whether no other child may run at the same time.
    ///   - body: called with the process id once the probe runs.
    /// - Returns: how the probe ended, and its report.
    /// - Throws: `POSIXError` if the probe could not be started.
    static func run(
        _ backend: TimerService.Backend,
        _ steps: [String],
        on clock: TimerClock = .suspending,
        under means: Means = .none,
        limit seconds: Int = 60,
        alone isAlone: Bool = false,
        meanwhile body: (@Sendable (pid_t) -> Void)? = nil
    ) async throws -> Run {
        let outcome = try await Child.run(
            means.command + [path, backend.rawValue, clock.rawValue, "\(seconds)"] + steps,
            environment: means.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 },
            limit: Double(seconds) + 10,
            alone: isAlone,
            meanwhile: body
        )
        let report = try? JSONDecoder().decode(ProbeReport.self, from: Data(outcome.output.utf8))
        return Run(outcome: outcome, report: report)
    }

    /// The probe is in the folder of the tests' bundle.
    static var path: String {
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent("fault-probe").path
    }
}
