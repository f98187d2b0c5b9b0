internal import TimerAlarms
internal import TimerCore

/// Carries a plan out: a warm-up that does not count, then round by round, in each of which the cases take turns so fast that
/// what the machine does to one it does to all of them.
package struct Measurement {
    /// What is measured.
    package let plan: MeasurementPlan
    /// What was measured, the last round perhaps not to its end.
    package private(set) var rounds: [Round] = []
    /// When it began, in nanoseconds on the monotonic clock.
    private var start: UInt64 = 0

    package init(_ plan: MeasurementPlan) { self.plan = plan }

    /// Measures. Takes the plan's time; the calling thread waits meanwhile, and calls what it is given.
    ///
    /// - Parameters:
    ///   - goesOn: called some ten times a second; returns whether to go on.
    ///   - turnEnded: called after each turn that counts, with the number of the round, from 1.
    /// - Throws: `MeasurementError`; what was measured before stays in ``rounds``.
    package mutating func run(
        goesOn: (Progress) -> Bool,
        turnEnded: (Int, Case, Turn) -> Void = { _, _, _ in }
    ) throws(MeasurementError) {
        start = KernelClock.now(.suspending).nanoseconds
        for planned in plan.order(inTurn: 0) {
            if try measure(planned, goal: plan.deadlinesOfWarmUp, .warmUp, goesOn).wasStopped { throw .stopped }
        }
        for number in 1...plan.rounds {
            var cells: [Case: Cell] = [:]
            var disturbances = [StallCheck.disturbance("before it")].compactMap(\.self)
            let steal = StealTime.current
            do throws(MeasurementError) {
                try measure(round: number, into: &cells, goesOn, turnEnded)
            } catch {
                keep(cells, disturbances, isComplete: false)
                throw error
            }
            disturbances += [StallCheck.disturbance("after it"), steal?.disturbance(until: .current)].compactMap(\.self)
            keep(cells, disturbances, isComplete: true)
        }
    }

    /// All turns of a round.
    private func measure(
        round: Int,
        into cells: inout [Case: Cell],
        _ goesOn: (Progress) -> Bool,
        _ turnEnded: (Int, Case, Turn) -> Void
    ) throws(MeasurementError) {
        for turn in 0..<plan.turnsPerRound {
            for planned in plan.order(inTurn: 1 + (round - 1) * plan.turnsPerRound + turn) {
                let (cell, ticks, wasStopped) = try measure(
                    planned,
                    goal: plan.deadlines(inTurn: turn),
                    .round(round, of: plan.rounds),
                    goesOn
                )
                turnEnded(round, cell.case, ticks)
                if cell.ticks > 0 {
                    if cells[cell.case]?.add(cell) == nil { cells[cell.case] = cell }
                }
                if wasStopped { throw .stopped }
            }
        }
    }

    /// Adds a round, unless nothing was measured in it.
    private mutating func keep(_ cells: [Case: Cell], _ disturbances: [String], isComplete: Bool) {
        let ordered = plan.cases.compactMap { cells[$0.case] }
        if !ordered.isEmpty { rounds.append(Round(disturbances: disturbances, isComplete: isComplete, cells: ordered)) }
    }

    private func measure(
        _ planned: PlannedCase,
        goal: UInt64,
        _ stage: Progress.Stage,
        _ goesOn: (Progress) -> Bool
    ) throws(MeasurementError) -> (Cell, Turn, wasStopped: Bool) {
        let run = planned.run(plan, goal: goal)
        let (turn, cost, wasStopped) = try run.measure { goesOn(progress(stage, planned)) }
        return (Cell(planned.case, turn, cost: cost, at: time(of: turn)), turn, wasStopped)
    }

    /// Nanoseconds from the beginning to a turn's first deadline, which may be on another clock.
    private func time(of turn: Turn) -> UInt64 {
        // The age first: a pause between the two makes the turn late, and not earlier than the one before it.
        let age = KernelClock.now(turn.clock).nanoseconds
        let now = KernelClock.now(.suspending).nanoseconds - start
        return now - min(now, age - min(age, turn.start))
    }

    private func progress(_ stage: Progress.Stage, _ planned: PlannedCase) -> Progress {
        Progress(
            stage: stage,
            row: "\(planned.case)",
            elapsed: KernelClock.now(.suspending).nanoseconds - start,
            total: plan.expectedTime
        )
    }
}
