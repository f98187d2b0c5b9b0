import TestSupport

/// What a test asks of a probe's report.
extension Probe.Run {
    /// Why the fault went unheard, or which timer misbehaved; nil if each schedule got an error of the system's, or timers
    /// that went on ticking on their grid, or ended once because the backend had failed.
    /// A timer that goes on must have accounted for so many deadlines.
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
            // The probe itself may shut the service down afterwards.
            case nil, "serviceShutDown":
                if timer.accounted < ticks { return "a timer is silent after \(timer.accounted) deadlines" }
            case .some(let end):
                if !Self.failures.contains(end) { return "a timer ended: \(end)" }
            }
        }
        return nil
    }

    /// Why a run was not one without a fault: every timer goes on ticking, on its grid; nil if it was.
    func trouble(ticks: UInt64) -> String? {
        if let refusal = report?.steps.compactMap(\.refusal).first { return refusal.text }
        if let end = report?.timers.flatMap(\.ends).first { return "a timer ended: \(end)" }
        if report?.timers.isEmpty == true { return "no timer" }
        return silence(ticks: ticks)
    }

    /// The codes of errors that a refusing system is answered with.
    private static let systemErrors: Set<String> = ["refused by the system", "unavailable", "backend failed"]
    /// The codes of the error of a backend that failed.
    private static let failures: Set<String> = ["refused by the system", "backend failed"]
}

extension ProbeReport.Timer {
    /// How many deadlines its ticks stand for.
    var accounted: UInt64 { ticks.last.map { $0.index + 1 + $0.missed } ?? 0 }

    /// Nanoseconds between two deadlines.
    static let tenMilliseconds: UInt64 = 10_000_000
}
