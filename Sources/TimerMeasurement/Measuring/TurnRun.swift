/// Measures one case for one turn.
protocol TurnRun {
    /// Measures. The calling thread waits meanwhile, but for a call of `watch` every 100 ms, which returns whether to go on.
    func measure(_ watch: () -> Bool) throws(MeasurementError) -> (Turn, Cost, wasStopped: Bool)
}

extension PlannedCase {
    /// How its turns are measured.
    ///
    /// - Parameters:
    ///   - plan: what it is a case of.
    ///   - goal: how many deadlines of each timer are to be accounted for.
    /// - Returns: one that has not begun.
    func run(_ plan: MeasurementPlan, goal: UInt64) -> any TurnRun {
        switch row.subject {
        case .backend, .peer, .reference: CaseRun(planned: self, plan: plan, goal: goal)
        case .referee: RefereeRun(planned: self, plan: plan, goal: goal)
        }
    }
}
