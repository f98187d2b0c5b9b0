internal import HostSystem
internal import PreciseTimer
package import TimerResults

/// Carries out a plan: a warm-up that does not count, then the rounds. In a round, the rows take turns so fast that a
/// disturbance of the machine meets all of them.
package struct Measurement {
    package let plan: MeasurementPlan
    /// The results up to now. The last round may be incomplete.
    package private(set) var rounds: [Round] = []
    private var start = SystemClock.now(.suspending)

    package init(_ plan: MeasurementPlan) { self.plan = plan }

    /// Measures. The calling thread waits meanwhile, and calls the closures.
    ///
    /// - Parameters:
    ///   - goesOn: called some ten times a second; returns whether to go on.
    ///   - turnEnded: called after each turn that counts, with the number of the round, from 1.
    /// - Throws: `MeasurementError`. Earlier results stay in ``rounds``.
    package mutating func run(
        goesOn: (Progress) -> Bool,
        turnEnded: (Int, RowKey, Turn) -> Void = { _, _, _ in }
    ) throws(MeasurementError) {
        start = SystemClock.now(.suspending)
        for planned in plan.order(inTurn: 0) {
            if try measure(planned, goal: plan.deadlinesOfWarmUp, .warmUp, goesOn).wasStopped { throw .stopped }
        }
        for number in 1...plan.rounds {
            var cells: [RowKey: Cell] = [:]
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

    /// Measures all turns of a round.
    private func measure(
        round: Int,
        into cells: inout [RowKey: Cell],
        _ goesOn: (Progress) -> Bool,
        _ turnEnded: (Int, RowKey, Turn) -> Void
    ) throws(MeasurementError) {
        for turn in 0..<plan.turnsPerRound {
            for planned in plan.order(inTurn: 1 + (round - 1) * plan.turnsPerRound + turn) {
                let (cell, ticks, wasStopped) = try measure(
                    planned,
                    goal: plan.deadlines(inTurn: turn),
                    .round(round, of: plan.rounds),
                    goesOn
                )
                turnEnded(round, cell.key, ticks)
                if cell.ticks > 0 {
                    if cells[cell.key]?.add(cell) == nil { cells[cell.key] = cell }
                }
                if wasStopped { throw .stopped }
            }
        }
    }

    /// Adds a round, unless it is empty.
    private mutating func keep(_ cells: [RowKey: Cell], _ disturbances: [String], isComplete: Bool) {
        let ordered = plan.plannedRows.compactMap { cells[$0.key] }
        if !ordered.isEmpty { rounds.append(Round(disturbances: disturbances, isComplete: isComplete, cells: ordered)) }
    }

    private func measure(
        _ planned: PlannedRow,
        goal: UInt64,
        _ stage: Progress.Stage,
        _ goesOn: (Progress) -> Bool
    ) throws(MeasurementError) -> (Cell, Turn, wasStopped: Bool) {
        let run = planned.run(plan, goal: goal)
        let (turn, cost, wasStopped) = try run.measure { goesOn(progress(stage, planned)) }
        return (Cell(planned.key, turn, cost: cost, at: time(of: turn)), turn, wasStopped)
    }

    /// Nanoseconds from the beginning to a turn's first deadline, which may be on another clock.
    private func time(of turn: Turn) -> UInt64 {
        // The age is read first: a pause between the two readings makes the turn late, and never earlier than the
        // turn before.
        let age = turn.firstDeadline.duration(to: SystemClock.now(turn.firstDeadline.clock))
        return (start.duration(to: SystemClock.now(.suspending)) - max(age, .zero)).wholeNanoseconds
    }

    private func progress(_ stage: Progress.Stage, _ planned: PlannedRow) -> Progress {
        Progress(
            stage: stage,
            row: "\(planned.key)",
            elapsed: start.duration(to: SystemClock.now(.suspending)),
            total: plan.expectedTime
        )
    }
}
