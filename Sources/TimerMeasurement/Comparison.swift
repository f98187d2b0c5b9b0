internal import TimerAlarms
internal import TimerCore

/// Measures every row of a plan: a warm-up that does not count, then round by round, every row once in each.
///
/// The rows take turns within seconds, so that what the machine does to one it does to all of them.
package struct Comparison {
    /// What is measured.
    package let plan: MeasurementPlan
    /// The rows' results by completed round.
    package private(set) var rounds: [[Row: RoundResult]] = []
    /// When it began, in nanoseconds on the monotonic clock.
    private var start: UInt64 = 0

    package init(_ plan: MeasurementPlan) { self.plan = plan }

    /// Measures. Takes the plan's time; the calling thread sleeps meanwhile.
    ///
    /// - Parameter watch: called on the calling thread some ten times a second; returns whether to go on.
    /// - Throws: `MeasurementError`; what was completed before stays in ``rounds``.
    package mutating func run(_ watch: (Progress) -> Bool) throws(MeasurementError) {
        start = KernelClock.now(.suspending).nanoseconds
        _ = try measureRows(plan.rows, goal: plan.deadlinesOfWarmUp, .warmUp, watch)
        for round in 0..<plan.rounds {
            let stage = Progress.Stage.round(round + 1, of: plan.rounds)
            let goal = plan.deadlinesPerRound
            rounds.append(try measureRows(plan.order(inRound: round), goal: goal, stage, watch))
        }
    }

    /// Whether some rounds are lacking.
    package var isPartial: Bool { rounds.count < plan.rounds }

    /// The rows over all completed rounds, in the order of the table. At least one round must be complete.
    package var report: [RowReport] {
        let floor = rounds.compactMap { $0[Row.floor] }
        return plan.rows.map { row in
            RowReport(row, period: plan.period, rounds: rounds.compactMap { $0[row] }, floor: floor)
        }
    }

    /// What must never be, one line for each row and round where it was.
    package var faults: [String] {
        rounds.enumerated()
            .flatMap { number, round in
                plan.rows.compactMap { row in
                    round[row]?.fault.map { "\(row.name), round \(number + 1): \($0)" }
                }
            }
    }

    private func measureRows(
        _ rows: [Row],
        goal: UInt64,
        _ stage: Progress.Stage,
        _ watch: (Progress) -> Bool
    ) throws(MeasurementError) -> [Row: RoundResult] {
        var results: [Row: RoundResult] = [:]
        for row in rows {
            let run = RowRun(row: row, period: plan.period, goal: goal)
            results[row] = try run.measure { watch(progress(stage, row)) }
        }
        return results
    }

    private func progress(_ stage: Progress.Stage, _ row: Row) -> Progress {
        let deadlines = plan.deadlinesOfWarmUp + plan.deadlinesPerRound * UInt64(plan.rounds)
        return Progress(
            stage: stage,
            row: row.name,
            elapsed: KernelClock.now(.suspending).nanoseconds - start,
            // A run takes some milliseconds more than its deadlines, to begin and to end.
            total: UInt64(plan.rows.count) * (deadlines * plan.period + UInt64(plan.rounds + 1) * 8_000_000)
        )
    }
}
