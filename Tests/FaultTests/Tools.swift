import Foundation
import Glibc
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
                    let (time, busy) = (Int(step.seconds * 1_000), Int(step.cpuSeconds * 1_000))
                    return "\(step.text) \(step.isMet) \(time) ms, CPU \(busy) ms \(step.refusal?.text ?? "")"
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
    /// - Returns: how the probe ended, and its report.
    /// - Throws: `POSIXError` if the probe could not be started.
    static func run(
        _ backend: Backend,
        _ steps: [String],
        on clock: TimerClock = .suspending,
        under means: Means = .none,
        hurried isHurried: Bool = false
    ) async throws -> Run {
        var always = ["SWIFT_BACKTRACE": "enable=no"]
        if isHurried, !Effort.isThorough { always["FAULT_PROBE_HURRY"] = "1" }
        let outcome = try await Child.run(
            means.command + [Child.path(of: "fault-probe"), backend.rawValue, clock.rawValue] + steps,
            environment: means.environment.merging(always) { _, given in given }
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
    func silence(ticks: Int) -> String? {
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
    func trouble(ticks: Int) -> String? {
        if let refusal = refusals.first { return refusal.text }
        if let end = report?.timers.flatMap(\.ends).first { return "a timer ended: \(end)" }
        if report?.timers.isEmpty == true { return "no timer" }
        return silence(ticks: ticks)
    }

    /// The failures of timers that have these words.
    func failures(saying words: String) -> [String] {
        report?.timers.flatMap(\.failures).filter { $0.contains(words) } ?? []
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

    /// Whether each of these steps came true, and no step was refused.
    func isMet(all steps: [String]) -> Bool {
        refusals.isEmpty && report?.steps.map(\.isMet) == steps.map { _ in true }
    }

    /// Whether no thread spins during the step `rest`. One would use a processor, or a third of one beside others.
    var isIdle: Bool { report?.step("rest").map { $0.cpuSeconds < 0.25 * $0.seconds } ?? false }

    /// The codes of errors for a refusing system.
    private static let systemErrors: Set<String> = ["refused by the system", "unavailable", "backend failed"]
    /// The codes of errors for a failed backend.
    private static let failures: Set<String> = ["refused by the system", "backend failed"]
}

/// The machine's tools for injecting faults. If a tool is missing, its tests are skipped, with the reason.
enum Tools {
    static let canTrace = succeeds(["strace", "-qq", "-o", "/dev/null", "true"])

    /// The library that refuses calls, built from `refuse.c`; nil if there is no compiler.
    static let refusingLibrary: String? = {
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("refuse.c")
        let programs = URL(fileURLWithPath: Child.path(of: "fault-probe")).deletingLastPathComponent()
        let library = programs.appendingPathComponent("refuse.so").path
        // Built under another name and then moved, because another test process may be using the old file.
        let fresh = "\(library).\(getpid())"
        let arguments = ["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", fresh, source.path]
        for compiler in ["cc", "clang", "gcc"] where succeeds([compiler] + arguments) {
            return unsafe rename(fresh, library) == 0 ? library : nil
        }
        return nil
    }()

    /// Whether a command exits with 0.
    static func succeeds(_ command: [String]) -> Bool {
        let process = Process()
        (process.executableURL, process.arguments) = (URL(fileURLWithPath: "/usr/bin/env"), command)
        (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        do { try process.run() } catch { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}

extension Trait where Self == ConditionTrait {
    static var canTrace: Self { .enabled(if: Tools.canTrace, "needs strace, and the right to trace") }
    static var canRefuse: Self { .enabled(if: Tools.refusingLibrary != nil, "needs a C compiler, for refuse.c") }
    static var isRoot: Self { .enabled(if: geteuid() == 0, "needs root") }
}

/// Ends a test's separate process with SIGALRM if it hangs: that is a failure.
func endIfHung() { alarm(Hang.seconds) }

/// Forking, which Swift hides with good reason.
enum Fork {
    /// The functions that fork: `_Fork` runs no fork handlers.
    static let kinds = ["fork", "_Fork"].filter { function($0, as: (@convention(c) () -> pid_t).self) != nil }

    /// In place of a child's number: nobody has forked. In the child the number is zero.
    static let none: pid_t = -2

    /// Runs a body in a forked child, and returns its exit code: 0 to 255, or the number of the signal that ended it,
    /// negated.
    ///
    /// A fork copies the locks of malloc and of the Swift runtime as they are. If another thread of the parent holds
    /// one at that moment, the child waits for it without end, and no library can prevent that. So a child that hangs
    /// gets two more trials; a hang of the library's own would come each time.
    ///
    /// - Parameters:
    ///   - name: the C library's function that forks.
    ///   - body: what the child does.
    ///   - parent: what the parent does before it waits for the child.
    /// - Returns: the exit code of the last trial.
    static func outcome(by name: String = "fork", of body: () -> Int32, meanwhile parent: () -> Void = {}) -> Int32 {
        var code: Int32 = 0
        for _ in 0..<3 {
            let child = fork(by: name)
            if child == 0 {
                // Dispatch's threads, on which tests run, block all signals.
                Child.unblockSignals()
                alarm(Hang.seconds / 6)
                _exit(body())
            }
            parent()
            code = exitCode(of: child)
            if code != -SIGALRM { break }
        }
        return code
    }

    static func fork(by name: String = "fork") -> pid_t {
        function(name, as: (@convention(c) () -> pid_t).self)?() ?? -1
    }

    /// The exit code of a child, or the negated number of the signal that ended it; -255 if there is no such child.
    static func exitCode(of child: pid_t) -> Int32 {
        var status: Int32 = 0
        while unsafe waitpid(child, &status, 0) != child { if errno != EINTR { return -255 } }
        return status & 0x7f == 0 ? (status >> 8) & 0xff : -(status & 0x7f)
    }
}

typealias Backend = TimerService.Backend

/// The timerfds that a body opens, among which are none that Dispatch opens on its first use.
func newTimers<Result>(_ body: () throws -> Result) rethrows -> (Result, [CInt]) {
    DispatchDescriptors.open()
    let before = timerDescriptors
    let result = try body()
    return (result, timerDescriptors.filter { !before.contains($0) })
}

/// The timerfds of this process.
var timerDescriptors: [CInt] { ProcFS.descriptors(on: "anon_inode:[timerfd]") }

/// Schedules a timer with a far deadline, whose target is released at once unless the test holds it.
func scheduleFar(
    on service: TimerService = .default,
    target: Thing = Thing(),
    onEnd: @escaping @Sendable (PreciseTimer.EndReason) -> Void
) throws(TimerError) {
    let far = PreciseTimer.Schedule.once(after: .seconds(3_600))
    try PreciseTimer.schedule(far, on: service, target: target, onEnd: onEnd, handler: { _, _ in })
}
