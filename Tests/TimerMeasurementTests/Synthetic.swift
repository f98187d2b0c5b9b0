import TimerCore
import TimerMeasurement

/// Measurements that never happened, whose results are known.
enum Synthetic {
    /// Deadline 0 of all of them, in nanoseconds.
    static let start: UInt64 = 1_000_000_000

    /// A tick for every deadline, each late by so many nanoseconds.
    static func recording(_ latenesses: [Int64], period: UInt64 = 1_000_000) -> Recording {
        let deadlines = Deadlines(start: TimerInstant(nanoseconds: start), period: period)
        var recording = Recording(of: deadlines, goal: UInt64(latenesses.count))
        for (index, lateness) in latenesses.enumerated() {
            recording.record(arrival(UInt64(index), of: deadlines, lateness: lateness))
        }
        return recording
    }

    /// A tick for a deadline, which was late by so much, and for which the clock was read only once.
    static func arrival(
        _ index: UInt64,
        of deadlines: Deadlines,
        lateness: Int64,
        missed: UInt64 = 0
    ) -> Recording.Arrival {
        let deadline = deadlines[index]
        let now = TimerInstant(nanoseconds: UInt64(Int64(deadline.nanoseconds) + lateness))
        return Recording.Arrival(index: index, deadline: deadline, missed: missed, woke: now, delivered: now)
    }

    /// A row of which nothing else is known.
    static func `case`(_ row: String, _ kind: Case.Kind = .backend, load: String = Case.idle) -> Case {
        Case(row: row, kind: kind, load: load)
    }

    /// A turn of such ticks, which took 1 % of a processor and one wake-up for each tick.
    static func cell(_ case: Case, _ latenesses: [Int64], period: UInt64 = 1_000_000, at time: UInt64 = 0) -> Cell {
        let ticks = Int64(latenesses.count)
        let cost = Cost(cpu: ticks * Int64(period) / 100, wakeUps: ticks, contextSwitches: ticks)
        return Cell(`case`, Turn([recording(latenesses, period: period)]), cost: cost, at: time)
    }

    /// A machine.
    static let host = Host(
        system: "Linux",
        kernel: "6.1",
        machine: "x86_64",
        cpu: "A CPU",
        processors: 2,
        build: .release,
        clockSource: "tsc",
        governor: "performance",
        hypervisor: true,
        usableProcessors: 2,
        cpuQuota: 1.5,
        clockRead: 26.1
    )

    /// Results of rounds with these cells.
    static func results(_ rounds: [[Cell]], asked: Int? = nil, loads: [String] = [Case.idle]) -> Results {
        var rows: [String] = []
        for cell in rounds.joined() where !rows.contains(cell.case.row) { rows.append(cell.case.row) }
        return Results(
            hosts: [host],
            options: Options(
                rows: rows,
                period: 1_000_000,
                duration: 40_000_000,
                rounds: asked ?? rounds.count,
                warmUp: 100_000_000,
                timers: 1,
                delivery: "inline",
                clock: "suspending",
                loads: loads,
                seed: 1
            ),
            rounds: rounds.map { Round(cells: $0) }
        )
    }
}
