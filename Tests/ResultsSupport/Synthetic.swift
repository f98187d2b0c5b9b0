package import TimerResults

/// Results of measurements that never happened.
package enum Synthetic {
    /// A row under a load.
    package static func key(_ row: String, _ kind: RowKey.Kind = .backend, load: String = RowKey.idle) -> RowKey {
        RowKey(row: row, kind: kind, load: load)
    }

    /// A turn of one timer, with 1 % of a processor and one wake-up for each tick.
    ///
    /// - Parameters:
    ///   - key: the row.
    ///   - latenesses: nanoseconds, one for each tick, for one deadline after the other.
    ///   - period: nanoseconds.
    ///   - late: what held up the late ticks.
    ///   - spin: how the budget limited the spinning.
    /// - Returns: the turn's cell.
    package static func cell(
        _ key: RowKey,
        _ latenesses: [Int64],
        period: UInt64 = 1_000_000,
        late: LateTicks? = nil,
        spin: SpinCuts? = nil
    ) -> Cell {
        let ticks = Int64(latenesses.count)
        let cost = Cost(cpu: ticks * Int64(period) / 100, wakeUps: ticks, contextSwitches: ticks)
        let all = latenesses.enumerated().map { Point(time: UInt64($0) * period, lateness: $1) }
        return cell(key, all, hop: 0, cost: cost, period: period, late: late, spin: spin)
    }

    /// A turn of ticks at their deadlines. Deadlines between two ticks were missed, and are carried by the tick before.
    package static func cell(
        _ key: RowKey,
        _ ticks: [Point],
        hop: Int64 = 0,
        cost: Cost,
        period: UInt64 = 1_000_000,
        late: LateTicks? = nil,
        spin: SpinCuts? = nil
    ) -> Cell {
        let omitted = zip(ticks, ticks.dropFirst())
            .flatMap { tick, next in
                (1..<Int64((next.time - tick.time) / period)).map { tick.lateness - $0 * Int64(period) }
            }
        let early = ticks.count { $0.lateness < 0 }
        let last = ticks.last.map { Int64($0.time) + $0.lateness } ?? -Int64(period)
        return Cell(
            key,
            missed: UInt64(omitted.count),
            early: early,
            lateness: Distribution(ticks.map(\.lateness)),
            omitted: Distribution(omitted),
            wake: Distribution(ticks.map { $0.lateness - hop }),
            hop: Distribution(ticks.map { _ in hop }),
            intervalError: Distribution(zip(ticks, ticks.dropFirst()).map { abs($1.lateness - $0.lateness) }),
            drifts: [Drift(ticks, period: period, shortest: 0)].compactMap(\.self),
            cost: cost,
            elapsed: UInt64(max(last, 0)) + (ticks.isEmpty ? 0 : period),
            problem: key.kind == .peer || early == 0
                ? nil : "\(early) of \(ticks.count) ticks came before their deadline",
            late: late,
            spin: spin
        )
    }

    package static let host = Host(
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

    /// Results of rounds with these cells, a lap each.
    package static func results(_ rounds: [[Cell]], asked: Int? = nil, loads: [String] = [RowKey.idle]) -> Results {
        var rows: [String] = []
        for cell in rounds.joined() where !rows.contains(cell.key.row) { rows.append(cell.key.row) }
        return Results(
            hosts: [host],
            options: Options(
                rows: rows,
                period: 1_000_000,
                turn: 40_000_000,
                laps: asked ?? rounds.count,
                warmUp: 100_000_000,
                timers: 1,
                delivery: "inline",
                clock: "suspending",
                loads: loads,
                seed: 1
            ),
            rounds: rounds.map { Round(laps: 1, cells: $0) }
        )
    }
}
