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

extension Synthetic {
    /// The comparison of most tests, computed once.
    package static let comparison = comparison()

    /// Three backends, a peer and a floor, with a stall, a disturbed round, and a remark.
    package static func comparison(
        rounds: Int = 8,
        loads: [String] = [RowKey.idle],
        asked: Int? = nil,
        delivery: String = "inline"
    ) -> Report {
        var generator = SplitMix64(seed: 42)
        let cells = (0..<rounds)
            .map { round in
                loads.flatMap { load in
                    comparedRows.map { row, kind, lateness in
                        let latenesses = (0..<40)
                            .map { _ in Int64(lateness + generator.next() % (lateness / 4) + generator.next() % 9000) }
                        let stalls = row == "dispatch" && round == 1
                        return cell(Self.key(row, kind, load: load), latenesses, stall: stalls ? 20 : nil)
                    }
                }
            }
        var options = results(cells, asked: asked, loads: loads).options
        options.delivery = delivery
        return Report(
            Results(
                hosts: [host],
                options: options,
                remarks: [
                    Remark(asked: "--load cpu:8", obtained: "8 threads on 2 processors", reason: "there are no more")
                ],
                rounds: cells.enumerated()
                    .map { round, cells in
                        Round(
                            disturbances: round == 1 ? ["a busy thread stood still for 1234 µs after it"] : [],
                            laps: 1,
                            cells: cells
                        )
                    }
            )
        )
    }

    private static let comparedRows: [(String, RowKey.Kind, UInt64)] = [
        ("dispatch", .backend, 80_000), ("timerfd", .backend, 62_000), ("libevent", .backend, 63_000),
        ("peer-dispatch-source", .peer, 81_000), (RowKey.floor, .reference, 55_000),
    ]

    /// A turn with a hop of 3 µs. If it stalls, the tick of one deadline comes 4.5 periods late and carries four more.
    private static func cell(_ key: RowKey, _ latenesses: [Int64], stall: Int?) -> Cell {
        let ticks = latenesses.enumerated()
            .filter { index, _ in stall.map { !($0 + 1...$0 + 4).contains(index) } ?? true }
            .map { Point(time: UInt64($0) * 1_000_000, lateness: $0 == stall ? 4_500_000 : $1) }
        let count = Int64(ticks.count)
        let cost = Cost(cpu: count * 12_000, wakeUps: count, contextSwitches: count + 2)
        return cell(key, ticks, hop: 3000, cost: cost, period: 1_000_000)
    }
}
