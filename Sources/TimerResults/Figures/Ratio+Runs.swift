internal import Foundation

/// Two runs compared.
extension Ratio {
    /// How much two runs of one program differ beyond what their own laps show, as a natural logarithm: 8 %.
    ///
    /// The laps of a run are paired, those of two runs are not: the host, and where the kernel puts a process, are
    /// different each time.
    static let betweenRuns = 0.08

    /// A row in a new run as a multiple of the same row in an old run, each as a multiple of the floor in its own run;
    /// nil if one of the runs lacks a row.
    package init?(of key: RowKey, _ percentile: PairReport.Percentile, since old: Results, in new: Results) {
        guard let before = Ratio(of: old.ratios(key, key.floor, percentile)),
            let after = Ratio(of: new.ratios(key, key.floor, percentile))
        else { return nil }
        let estimate = after.estimate / before.estimate
        guard let beforeReach = before.reach, let afterReach = after.reach else {
            self.init(estimate: estimate, interval: nil)
            return
        }
        // More laps now change neither the old run nor the difference of two runs.
        let fixedReach = (log(1 + beforeReach) * log(1 + beforeReach) + Self.betweenRuns * Self.betweenRuns)
            .squareRoot()
        let reach = exp((fixedReach * fixedReach + log(1 + afterReach) * log(1 + afterReach)).squareRoot())
        self.init(estimate: estimate, interval: estimate / reach...estimate * reach, fixedReach: fixedReach)
    }
}
