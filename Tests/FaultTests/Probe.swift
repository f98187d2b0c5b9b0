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
            let trace = "trace=\(injection.prefix { $0 != ":" })"
            return Means(command: ["strace", "-f", "-qq", "-o", "/dev/null", "-e", trace, "-e", "inject=\(injection)"])
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
    ///   - isHurried: whether the supervisor's seconds pass ten times as fast, unless the tests are thorough. For
    ///     faults that the supervisor finds; a timer that must go on would have only half a second to be late.
    ///   - body: called with the process id once the probe runs.
    /// - Returns: how the probe ended, and its report.
    /// - Throws: `POSIXError` if the probe could not be started.
    static func run(
        _ backend: Backend,
        _ steps: [String],
        on clock: TimerClock = .suspending,
        under means: Means = .none,
        hurried isHurried: Bool = false,
        meanwhile body: (@Sendable (pid_t) -> Void)? = nil
    ) async throws -> Run {
        var always = ["SWIFT_BACKTRACE": "enable=no"]
        if isHurried, !Effort.isThorough { always["FAULT_PROBE_HURRY"] = "1" }
        let outcome = try await Child.run(
            means.command + [Child.path(of: "fault-probe"), backend.rawValue, clock.rawValue] + steps,
            environment: means.environment.merging(always) { _, given in given },
            meanwhile: body
        )
        let report = try? JSONDecoder().decode(ProbeReport.self, from: Data(outcome.output.utf8))
        return Run(outcome: outcome, report: report)
    }
}

/// The checks of a probe's report.
extension Probe.Run {
    /// Why the fault was not reported, or which timer misbehaved; nil if all is well. The probe must have ended. Each
    /// schedule must have thrown an error of the system, or its timers must have ticked on their grid, or ended once
    /// because the backend failed. A timer that goes on must have accounted for that many deadlines.
    func silence(ticks: UInt64) -> String? {
        guard outcome.code == 0, let report else { return "no report" }
        if let refusal = refusals.first(where: { !Self.systemErrors.contains($0.code) }) {
            return "refused for another reason: \(refusal.text)"
        }
        if report.timers.isEmpty && refusals.isEmpty { return "neither a timer nor an error" }
        for timer in report.timers {
            if let flaw = timer.flaw { return flaw }
            if timer.ends.count > 1 { return "a timer ended more than once: \(timer.ends)" }
            switch timer.ends.first {
            // The probe may shut the service down afterwards.
            case nil, "service shut down":
                if timer.accounted < ticks { return "a timer is silent after \(timer.accounted) deadlines" }
            case .some(let end):
                if !Self.failures.contains(end) { return "a timer ended: \(end)" }
            }
        }
        return nil
    }

    /// Nil if the run shows no fault: every timer goes on ticking on its grid. Otherwise, the reason.
    func trouble(ticks: UInt64) -> String? {
        if let refusal = refusals.first { return refusal.text }
        if let end = report?.timers.flatMap(\.ends).first { return "a timer ended: \(end)" }
        if report?.timers.isEmpty == true { return "no timer" }
        return silence(ticks: ticks)
    }

    /// The errors that steps got.
    var refusals: [ProbeReport.Refusal] { report?.steps.compactMap(\.refusal) ?? [] }

    /// Whether the last step came true, and the last schedule was accepted.
    var worksInTheEnd: Bool {
        let steps = report?.steps ?? []
        return steps.last?.isMet == true && steps.last { $0.text.hasPrefix("schedule=") }?.refusal == nil
    }

    /// Whether a step, named by its prefix, came true.
    func isMet(_ step: String) -> Bool { report?.step(step)?.isMet == true }

    /// Whether no thread spins during the step `rest`. One would use a processor, or a third of one beside others.
    var isIdle: Bool { (report?.step("rest")?.load ?? 1) < 0.25 }

    /// The codes of errors for a refusing system.
    private static let systemErrors: Set<String> = ["refused by the system", "unavailable", "backend failed"]
    /// The codes of errors for a failed backend.
    private static let failures: Set<String> = ["refused by the system", "backend failed"]
}

extension ProbeReport.Timer {
    /// The number of deadlines that the ticks stand for.
    var accounted: UInt64 { ticks.last.map { $0.index + 1 + $0.missed } ?? 0 }
}
