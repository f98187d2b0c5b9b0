package import FoundationEssentials
internal import HostSystem
package import TimerProbe
package import TimerResults

/// How the command and ``compareBackends(_:period:for:progress:)`` measure.
extension BackendComparison {
    /// The version that results name.
    package static let version = "0.1.0"

    /// Carries out a plan. The calling thread waits until its end. It calls `progress` some ten times a second,
    /// `goesOn` at least as often, which returns whether to go on, and `turnEnded` after each turn that counts. Rows
    /// whose threads get none of the plan's wishes are foreign. Returns what was measured, maybe nothing, and why
    /// nothing more could be measured; nil if it was stopped or came to its end.
    package static func measure(
        _ plan: MeasurementPlan,
        foreign: [String] = [],
        progress: (MeasurementProgress) -> Void,
        goesOn: () -> Bool,
        turnEnded: (Int, RowKey, TurnRecord) -> Void = { _, _, _ in }
    ) -> (comparison: BackendComparison, failure: MeasurementError?) {
        let start = Date.now
        var measurement = Measurement(plan)
        var (hasEnded, failure) = (false, MeasurementError?.none)
        var pace = ProgressPace()
        let look = { (now: MeasurementProgress) in
            if pace.isDue(at: now.elapsed) { progress(now) }
            return goesOn()
        }
        do throws(MeasurementError) { hasEnded = try measurement.run(goesOn: look, turnEnded: turnEnded) } catch {
            failure = error
        }
        let host = Host.current
        var results = Results(host: host, origin: Origin(since: start), options: plan.options, rows: measurement.rows)
        (results.machine, results.laps) = (measurement.machine, measurement.laps)
        results.remarks = plan.remarks(foreign: foreign, on: host)
        results.isStopped = !hasEnded
        return (BackendComparison(Report(results)), failure)
    }
}

extension Origin {
    /// The origin of a measurement that ends now.
    package init(since start: Date) {
        let seconds = (Date.now.timeIntervalSince(start) * 10).rounded() / 10
        self.init(date: start.formatted(.iso8601), seconds: seconds, version: BackendComparison.version)
    }
}
