import TestSupport

/// The checks of a probe's report.
extension Probe.Run {
    /// Why the fault was not reported, or which timer misbehaved; nil if all is well. Each schedule must have thrown
    /// an error of the system, or its timers must have ticked on their grid, or ended once because the backend
    /// failed. A timer that goes on must have accounted for that many deadlines.
    func silence(ticks: UInt64) -> String? {
        guard let report else { return "no report" }
        let refusals = report.steps.compactMap(\.refusal)
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
        if let refusal = report?.steps.compactMap(\.refusal).first { return refusal.text }
        if let end = report?.timers.flatMap(\.ends).first { return "a timer ended: \(end)" }
        if report?.timers.isEmpty == true { return "no timer" }
        return silence(ticks: ticks)
    }

    /// The codes of errors for a refusing system.
    private static let systemErrors: Set<String> = ["refused by the system", "unavailable", "backend failed"]
    /// The codes of errors for a failed backend.
    private static let failures: Set<String> = ["refused by the system", "backend failed"]
}

extension ProbeReport.Timer {
    /// The number of deadlines that the ticks stand for.
    var accounted: UInt64 { ticks.last.map { $0.index + 1 + $0.missed } ?? 0 }

    /// The period in nanoseconds.
    static let tenMilliseconds: UInt64 = 10_000_000
}
