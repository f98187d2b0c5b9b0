package import TimerResults

/// A row under a load, before it is measured.
package struct PlannedRow: Hashable, Sendable {
    package let row: Row
    package let load: Load

    package init(row: Row, load: Load) {
        self.row = row
        self.load = load
    }

    /// The usual time of a turn beyond that of its deadlines, to begin and to end.
    func overhead(period: Duration) -> Duration {
        RowRun.preparation(goal: 0, timers: 1) + LoadRun.lead(of: load) + row.lead(period: period)
            + .milliseconds(row.mechanism == .referee ? 65 : 2)
    }

    /// The name in the results.
    package var key: RowKey { RowKey(row: row.name, kind: row.kind, load: load.name) }
}
