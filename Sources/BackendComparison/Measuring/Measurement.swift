internal import PreciseTimer

/// Carries out a plan: a lap that warms up and does not count, then lap after lap until the time is over, then the long
/// stretches of all rows. A row that fails is given up, and the others go on.
struct Measurement {
    let plan: MeasurementPlan
    /// The measurements up to now, in the order of the table.
    private(set) var rows: [MeasuredRow]
    private(set) var laps: [Lap] = []
    /// How the system schedules the thread of each row's first tick, by the rows' names.
    private(set) var policies: [String: String] = [:]
    private var watch = MachineWatch()
    private let start = TimerClock.suspending.now

    init(_ plan: MeasurementPlan) {
        self.plan = plan
        rows = plan.plannedRows.map { MeasuredRow($0.key) }
    }

    /// How busy the machine was up to now.
    var machine: MachineState { watch.state(loadAverage: LoadAverage.current) }

    /// Measures, and waits for the end. At the start and the end of each turn, and some ten times a second
    /// in between, it calls `goesOn`, which returns whether to go on. After each turn that counts it calls `turnEnded`,
    /// with the number of the lap, from 1. Returns whether it came to its end. Throws `Failure` if no row is
    /// left, or the system refuses what all rows need. The measurements stay.
    mutating func run(
        goesOn: (MeasurementProgress) -> Bool,
        turnEnded: (Int, RowKey, TurnRecord) -> Void = { _, _, _ in }
    ) throws(Failure) -> Bool {
        let companion = try Failure.ofLibrary(plan.request.wishes.startCompanion)
        defer { companion?.shutdown() }
        let begin = TimerClock.suspending.now
        for planned in plan.warmsUp ? plan.order(inLap: 0) : [] {
            guard try measure(planned, "warm-up", goesOn) != nil else { return false }
        }
        var lap = 1
        while plan.begins(lap: lap, left: plan.timeForLaps - begin.duration(to: TimerClock.suspending.now)) {
            watch.beginLap()
            for planned in plan.order(inLap: lap) where !hasFailed(planned) {
                watch.beginTurn(under: planned.load.name, reading: watch.reading)
                guard let turn = try measure(planned, "lap \(lap)", goesOn) else {
                    watch.endLap(reading: watch.reading)
                    return false
                }
                turnEnded(lap, planned.key, turn)
                update(planned) { $0.add(turn) }
                if let policy = turn.policy { policies[planned.key.row] = policy }
            }
            watch.endLap(reading: watch.reading)
            laps.append(watch.lap)
            lap += 1
        }
        for group in plan.stretches {
            let rows = group.filter { !hasFailed($0) }
            guard !rows.isEmpty else { continue }
            let names = rows.map(\.key.description).joined(separator: ", ")
            var isStopped = false
            let recordings = StretchRun(rows: rows, plan: plan)
                .measure {
                    isStopped = !goesOn(progress("long stretch", of: names))
                    return !isStopped
                }
            for (planned, recording) in zip(rows, recordings) { try keep(recording, of: planned, isStopped) }
            if isStopped { return false }
        }
        return true
    }

    private mutating func keep(
        _ stretch: Result<Recording, Failure>,
        of planned: PlannedRow,
        _ isStopped: Bool
    ) throws(Failure) {
        do throws(Failure) {
            let turn = TurnRecord(recordings: [try stretch.get()])
            if turn.recordings[0].ticks == 0, !isStopped { throw Failure.failed("no tick in the long stretch") }
            let points = turn.points
            update(planned) { row in
                row.drift = StretchDrift(points, keepsGrid: planned.key.kind != .relative)
                row.series = LatenessSeries(points)
                row.problem = row.problem ?? (row.key.promises ? turn.problem : nil)
            }
        } catch { try giveUp(planned, error) }
    }

    private func progress(_ stage: String, of row: String) -> MeasurementProgress {
        let elapsed = start.duration(to: TimerClock.suspending.now)
        return MeasurementProgress(stage: stage, row: row, elapsed: elapsed, total: plan.expectedTime)
    }

    private func hasFailed(_ planned: PlannedRow) -> Bool {
        rows.contains { $0.key == planned.key && $0.failure != nil }
    }

    private mutating func update(_ planned: PlannedRow, _ change: (inout MeasuredRow) -> Void) {
        if let place = rows.firstIndex(where: { $0.key == planned.key }), rows[place].failure == nil {
            change(&rows[place])
        }
    }

    /// Measures one turn; nil if the caller stopped it. A row that fails has an empty turn.
    private mutating func measure(
        _ planned: PlannedRow,
        _ stage: String,
        _ goesOn: (MeasurementProgress) -> Bool
    ) throws(Failure) -> TurnRecord? {
        do {
            let look = { goesOn(progress(stage, of: "\(planned.key)")) }
            guard let turn = try RowRun(planned: planned, plan: plan).measure(look) else { return nil }
            return plan.request.planted.filter { $0.row == planned.key.row }.reduce(turn) { $0.changed(by: $1) }
        } catch {
            try giveUp(planned, error)
            return TurnRecord(recordings: [])
        }
    }

    /// Gives a row up. Throws if none is left.
    private mutating func giveUp(_ planned: PlannedRow, _ failure: Failure) throws(Failure) {
        update(planned) { $0.failure = failure.description }
        if rows.allSatisfy({ $0.failure != nil }) { throw failure }
    }
}

extension MeasuredRow {
    /// Counts the ticks of a turn. A turn without ticks does not count.
    mutating func add(_ turn: TurnRecord) {
        let deadlines = turn.latenesses
        guard !deadlines.isEmpty else { return }
        turns.append(
            Turn(
                median: UInt64(max(deadlines[(deadlines.count - 1) / 2], 0)),
                lateness: SparseHistogram(deadlines),
                missed: turn.recordings.reduce(0) { $0 + $1.missed },
                cpu: turn.bill?.cpuNanoseconds,
                wakeUps: turn.bill?.voluntarySwitches,
                switches: turn.bill.map { $0.voluntarySwitches + $0.involuntarySwitches },
                elapsed: turn.elapsed,
                runDelay: turn.runDelay
            )
        )
        let samples = turn.recordings.lazy.flatMap(\.samples)
        ticks = SparseHistogram(sumOf: [ticks, SparseHistogram(samples.map(\.lateness))])
        hop = SparseHistogram(sumOf: [hop, SparseHistogram(samples.map(\.hopLateness))])
        early += turn.recordings.reduce(0) { $0 + UInt64($1.early) }
        if key.promises { problem = problem ?? turn.problem }
        if let more = turn.late, late?.add(more) == nil { late = more }
        if let more = turn.spin, spin?.add(more) == nil { spin = more }
    }
}

/// The progress of a measurement: its stage, as `lap 3`, the row that ticks, and the time up to now and in all.
package struct MeasurementProgress: Sendable {
    let stage: String
    let row: String
    let elapsed: Duration
    let total: Duration

    /// One line for a terminal with so many columns. A text in the last column may already break the line, and the
    /// terminal cannot take back a broken line.
    package func line(width columns: Int = 80) -> String {
        let done = min(elapsed, total)
        let width = max(min(24, columns - 50), 4)
        let filled = total > .zero ? Int(Double(width) * (done / total)) : width
        let bar = String(repeating: "=", count: filled) + String(repeating: " ", count: width - filled)
        let left = Int(((total - done) / .seconds(1)).rounded(.up))
        let (before, after) = ("[\(bar)] \(stage): ", ", \(left) s left")
        let room = max(columns - 1 - before.count - after.count, 1)
        let line = before + (row.count <= room ? row : row.prefix(room - 1) + "…") + after
        return String(line.prefix(max(columns - 1, 0)))
    }
}

/// Decides when progress is shown: some ten times a second, however short the turns are.
///
/// A measurement looks at its ticks at least ten times a second, and with short turns much more often. It does not wake
/// up only to show progress, because that would disturb the ticks. So a look counts if it is nearly a tenth of a second
/// after the last one that counted, and the time between two of them stays below two tenths.
struct ProgressPace: Sendable {
    private static let interval = Duration.milliseconds(90)
    private var last: Duration?

    /// Whether to show progress at this look, by the time since the measurement began.
    mutating func isDue(at elapsed: Duration) -> Bool {
        if let last, elapsed - last < Self.interval { return false }
        last = elapsed
        return true
    }
}
