internal import HostSystem
internal import TimerResults

/// Measures one row for one turn.
protocol TurnRun {
    /// Measures. The calling thread waits meanwhile, and calls `watch` every 100 ms, which returns whether to go on.
    func measure(_ watch: () -> Bool) throws(MeasurementError) -> (Turn, Cost, wasStopped: Bool)
}

extension PlannedRow {
    /// Prepares a turn.
    ///
    /// - Parameters:
    ///   - plan: the plan of the row.
    ///   - goal: the number of deadlines that each timer must account for.
    /// - Returns: a run that has not begun.
    func run(_ plan: MeasurementPlan, goal: UInt64) -> any TurnRun {
        switch row.mechanism {
        case .backend, .peer, .reference: RowRun(planned: self, plan: plan, goal: goal)
        case .referee: RefereeRun(planned: self, plan: plan, goal: goal)
        }
    }
}

extension Cost {
    /// The cost in an account of the kernel.
    init(_ usage: ResourceUsage) {
        self.init(
            cpu: usage.cpuNanoseconds,
            wakeUps: usage.voluntarySwitches,
            contextSwitches: usage.voluntarySwitches + usage.involuntarySwitches
        )
    }
}
