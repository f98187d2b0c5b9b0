import ResultsSupport
import Testing
import TimerResults

/// Several measurements: put together only if they answer one question on one machine.
@Suite struct PoolingTests {
    private let first = Synthetic.results(Synthetic.rows)

    private func second(_ change: (inout Results) -> Void = { _ in }) -> Results {
        var results = Synthetic.results(
            Synthetic.rows.map { row in Synthetic.row(row.key.row, row.key.kind, lateness: 40_000, seed: 9) },
            machine: MachineState(others: 50, waiting: nil, stolen: 0)
        )
        change(&results)
        return results
    }

    @Test func theLapsOfAllStandOneAfterTheOther() throws {
        let pooled = try Results.pooled([first, second()])
        #expect(pooled.rows.allSatisfy { $0.turns.count == 80 })
        #expect(pooled.laps.count == 80 && pooled.origin.seconds == 60)
        #expect(pooled.machine.others == 25.5 && pooled.machine.waiting == nil, "their mean")
        #expect(try Results.pooled([first]) == first)
    }

    /// Fault 12: two machines became one table.
    @Test(
        arguments: [
            { $0.host = Host(system: "Linux", kernel: "6", machine: "vax", cpu: nil, processors: 2, build: .release) },
            { $0.options.period = 2_000_000 }, { $0.options.thread = "fifo:80" }, { $0.options.clock = "wall" },
            { $0.options.timers = 2 }, { $0.options.delivery = "queue" }, { $0.rows.removeLast() },
        ] as [@Sendable (inout Results) -> Void]
    )
    func otherQuestionsAndMachinesAreNotPooled(change: @Sendable (inout Results) -> Void) {
        let problem = #expect(throws: Problem.self) { try Results.pooled([first, second(change)]) }
        #expect(problem?.description.hasPrefix("they cannot be pooled: ") == true)
    }

    @Test func aRunIsNotPooledWithItself() {
        #expect(throws: Problem.self) { try Results.pooled([first, first]) }
        #expect(throws: Problem.self) { try Results.pooled([]) }
    }

    @Test func anIncompleteLastLapIsDropped() throws {
        var cut = first
        cut.rows[4].turns.removeLast()
        let pooled = try Results.pooled([cut, second()])
        #expect(pooled.rows.allSatisfy { $0.turns.count == 79 } && pooled.laps.count == 79)
    }

    @Test func lapsOfTwoBuildsStandSideBySide() throws {
        var sum = Synthetic.results([])
        for seed in 1...9 as ClosedRange<UInt64> {
            let this = Synthetic.results([Synthetic.row("timerfd", lateness: 80_000, laps: 1, seed: seed)])
            let other = Synthetic.results([Synthetic.row("timerfd", lateness: 40_000, laps: 1, seed: seed)])
            try sum.add(lapOf: this, and: other)
        }
        #expect(sum.rows.map(\.key.row) == ["timerfd", "other:timerfd"])
        #expect(sum.laps.count == 9)
        let report = Report(sum)
        #expect(report.rows[0].p50Ratio?.verdict == .later)
        let need = Need.later("timerfd", .p50, percent: 10, than: "other:timerfd")
        #expect(try Judgement(need, of: report).outcome == .fails)
        let debug = Synthetic.results([Synthetic.row("timerfd", lateness: 1, laps: 1)])
        #expect(throws: Problem.self) { try sum.add(lapOf: debug, and: second { $0.options.period = 5 }) }
    }
}
