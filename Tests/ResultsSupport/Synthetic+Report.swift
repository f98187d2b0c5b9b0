package import TimerResults

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
