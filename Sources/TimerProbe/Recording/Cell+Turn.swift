package import TimerResults

extension Cell {
    /// Counts the recordings of a turn.
    ///
    /// - Parameters:
    ///   - key: the row.
    ///   - turn: its ticks.
    ///   - cost: the kernel's bill for the turn.
    package init(_ key: RowKey, _ turn: Turn, cost: Cost) {
        let samples = turn.recordings.lazy.flatMap(\.samples)
        self.init(
            key,
            missed: turn.recordings.reduce(0) { $0 + $1.missed },
            early: turn.recordings.reduce(0) { $0 + $1.early },
            lateness: Distribution(samples.map(\.lateness)),
            omitted: Distribution(turn.omitted),
            wake: Distribution(samples.map(\.wakeLateness)),
            hop: Distribution(samples.map(\.hopLateness)),
            intervalError: Distribution(turn.intervalErrors),
            drifts: [Drift(turn.points, period: turn.recordings[0].deadlines.period)].compactMap(\.self),
            cost: cost,
            elapsed: turn.elapsed,
            // A peer promises nothing.
            problem: key.kind == .peer ? nil : turn.problem,
            late: turn.late,
            spin: turn.spin
        )
    }
}
