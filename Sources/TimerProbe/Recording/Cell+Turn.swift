package import TimerResults

extension Cell {
    /// Counts the recordings of a turn.
    ///
    /// - Parameters:
    ///   - key: the row.
    ///   - turn: its ticks.
    ///   - cost: the kernel's bill for the turn.
    ///   - time: nanoseconds from the beginning of the measurement to the turn's first deadline.
    package init(_ key: RowKey, _ turn: Turn, cost: Cost, at time: UInt64) {
        let samples = turn.recordings.lazy.flatMap(\.samples)
        let points = turn.points
        self.init(
            key,
            missed: turn.recordings.reduce(0) { $0 + $1.missed },
            early: turn.recordings.reduce(0) { $0 + $1.early },
            lateness: Distribution(samples.map(\.lateness)),
            omitted: Distribution(turn.omitted),
            wake: Distribution(samples.map(\.wakeLateness)),
            hop: Distribution(samples.map(\.hopLateness)),
            intervalError: Distribution(turn.intervalErrors),
            drifts: [Drift(points)].compactMap(\.self),
            stretches: Stretch.of(points, from: time),
            cost: cost,
            elapsed: turn.elapsed,
            // A peer promises nothing.
            problem: key.kind == .peer ? nil : turn.problem
        )
    }
}
