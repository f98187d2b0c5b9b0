import TimerCore
import TimerMeasurement

extension Synthetic {
    /// The one that most tests look at, computed once.
    static let comparison = comparison()

    /// A comparison as one sees it: three backends and a floor, some with a stall, a round that was disturbed, and a wish that
    /// was not granted.
    static func comparison(
        rounds: Int = 8,
        loads: [String] = [Case.idle],
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
                        return cell(Self.case(row, kind, load: load), latenesses, stall: stalls ? 20 : nil)
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
                            cells: cells
                        )
                    }
            )
        )
    }

    private static let comparedRows: [(String, Case.Kind, UInt64)] = [
        ("dispatch", .backend, 80_000), ("timerfd", .backend, 62_000), ("libevent", .backend, 63_000),
        ("peer-dispatch-source", .peer, 81_000), (Results.floor, .reference, 55_000),
    ]

    /// A turn whose alarm's thread is 3 µs earlier than the handler, and where the tick of one deadline comes 4.5 periods late.
    private static func cell(_ case: Case, _ latenesses: [Int64], stall: Int?) -> Cell {
        let deadlines = Deadlines(start: TimerInstant(nanoseconds: start), period: 1_000_000)
        var recording = Recording(of: deadlines, goal: UInt64(latenesses.count))
        while !recording.isComplete {
            let index = recording.accounted
            let isStalled = stall.map(UInt64.init) == index
            let lateness = isStalled ? 4_500_000 : latenesses[Int(index)]
            var arrival = arrival(index, of: deadlines, lateness: lateness, missed: isStalled ? 4 : 0)
            arrival.woke = TimerInstant(nanoseconds: arrival.delivered.nanoseconds - 3000)
            recording.record(arrival)
        }
        let ticks = Int64(recording.ticks)
        let cost = Cost(cpu: ticks * 12_000, wakeUps: ticks, contextSwitches: ticks + 2)
        return Cell(`case`, Turn([recording]), cost: cost, at: 0)
    }
}
