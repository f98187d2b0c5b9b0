internal import HostSystem
internal import PreciseTimer
package import TimerResults

/// Carries out a plan: a warm-up that does not count, then lap after lap.
package struct Measurement {
    package let plan: MeasurementPlan
    /// The results up to now. The last round may be incomplete.
    package private(set) var rounds: [Round] = []
    /// The round that is being measured.
    private var open: OpenRound?
    private var start = SystemClock.now(.suspending)

    package init(_ plan: MeasurementPlan) { self.plan = plan }

    /// Measures. The calling thread waits meanwhile, and calls the closures.
    ///
    /// - Parameters:
    ///   - goesOn: called some ten times a second; returns whether to go on.
    ///   - turnEnded: called after each turn that counts, with the number of the lap, from 1.
    ///   - isEnough: called after each round; returns whether to end before the last lap.
    /// - Throws: `MeasurementError`. Earlier results stay in ``rounds``.
    package mutating func run(
        goesOn: (Progress) -> Bool,
        turnEnded: (Int, RowKey, Turn) -> Void = { _, _, _ in },
        isEnough: ([Round]) -> Bool = { _ in false }
    ) throws(MeasurementError) {
        start = SystemClock.now(.suspending)
        let companion: TimerService?
        do { companion = try plan.wishes.startCompanion() } catch { throw .failed("\(error)") }
        defer { companion?.shutdown() }
        // What was measured counts, even if the measurement ends early.
        defer { closeRound() }
        for planned in plan.order(inLap: 0) {
            if try measure(planned, goal: plan.deadlinesOfWarmUp, .warmUp, goesOn).wasStopped { throw .stopped }
        }
        for lap in 1...plan.laps {
            if open == nil { open = OpenRound() }
            for planned in plan.order(inLap: lap) {
                let stage = Progress.Stage.lap(lap, of: plan.laps)
                let (cell, turn, wasStopped) = try measure(planned, goal: plan.deadlinesPerTurn, stage, goesOn)
                turnEnded(lap, cell.key, turn)
                open?.add(cell)
                if wasStopped { throw .stopped }
            }
            open?.endLap()
            guard let laps = open?.laps, laps == plan.lapsPerRound || lap == plan.laps else { continue }
            closeRound()
            if isEnough(rounds) { return }
        }
    }

    /// Keeps the open round, unless it is empty.
    private mutating func closeRound() {
        if let round = open?.closed(plan.plannedRows.map(\.key)) { rounds.append(round) }
        open = nil
    }

    private func measure(
        _ planned: PlannedRow,
        goal: UInt64,
        _ stage: Progress.Stage,
        _ goesOn: (Progress) -> Bool
    ) throws(MeasurementError) -> (Cell, Turn, wasStopped: Bool) {
        let run = planned.run(plan, goal: goal)
        var (turn, cost, wasStopped) = try run.measure { goesOn(progress(stage, planned)) }
        if let factor = plan.planted[planned.key.row] { turn = turn.stretched(by: factor) }
        return (Cell(planned.key, turn, cost: cost), turn, wasStopped)
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

/// A round that is being measured.
private struct OpenRound {
    private(set) var laps = 0
    private var hasBegunLap = false
    private var cells: [RowKey: Cell] = [:]
    private var disturbances = [StallCheck.disturbance("before it")].compactMap(\.self)
    private let steal = StealTime.current

    mutating func add(_ turn: Cell) {
        hasBegunLap = true
        if cells[turn.key]?.add(turn) == nil { cells[turn.key] = turn }
    }

    mutating func endLap() {
        laps += 1
        hasBegunLap = false
    }

    /// The round with its rows in an order; nil if nothing has ticked.
    func closed(_ order: [RowKey]) -> Round? {
        let ordered = order.compactMap { cells[$0] }.filter { $0.ticks > 0 }
        guard !ordered.isEmpty else { return nil }
        let ends = [StallCheck.disturbance("after it"), steal?.disturbance(until: .current)].compactMap(\.self)
        return Round(disturbances: disturbances + ends, laps: laps, isComplete: !hasBegunLap, cells: ordered)
    }
}

/// The progress of a measurement.
package struct Progress: Hashable, Sendable {
    package enum Stage: Hashable, Sendable {
        case warmUp
        case lap(Int, of: Int)
    }

    package let stage: Stage
    /// The name of the row that is being measured.
    package let row: String
    /// The time since the beginning.
    package let elapsed: Duration
    /// The expected time of the whole measurement.
    package let total: Duration

    package init(stage: Stage, row: String, elapsed: Duration, total: Duration) {
        self.stage = stage
        self.row = row
        self.elapsed = elapsed
        self.total = total
    }

    /// One line for a terminal with so many columns. A text in the last column may already break the line, and the
    /// terminal cannot take back a broken line.
    package func line(width columns: Int = 80, note: String = "") -> String {
        let done = min(elapsed, total)
        let width = max(min(24, columns - 50), 4)
        let filled = total > .zero ? Int(Double(width) * (done / total)) : width
        let bar = String(repeating: "=", count: filled) + String(repeating: " ", count: width - filled)
        let left = Int(((total - done) / .seconds(1)).rounded(.up))
        let stage =
            switch stage {
            case .warmUp: "warm-up"
            case .lap(let lap, let laps): "lap \(lap) of \(laps)"
            }
        let (before, after) = ("[\(bar)] \(stage): ", (note.isEmpty ? "" : ", \(note)") + ", \(left) s left")
        let room = max(columns - 1 - before.count - after.count, 1)
        let line = before + (row.count <= room ? row : row.prefix(room - 1) + "…") + after
        return String(line.prefix(max(columns - 1, 0)))
    }
}

/// Why a measurement ended early.
package enum MeasurementError: Error, Hashable, CustomStringConvertible {
    /// The caller stopped it.
    case stopped
    /// A row could not start, broke down or did not tick, in one line.
    case failed(String)

    /// One line.
    package var description: String {
        switch self {
        case .stopped: "stopped"
        case .failed(let reason): reason
        }
    }
}
