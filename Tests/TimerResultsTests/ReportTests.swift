import ResultsSupport
import Testing
import TimerResults

/// The report of synthetic results.
@Suite struct ReportTests {
    /// Forty ticks a round: timerfd is twice as late as the floor, and ten times as late in one round.
    private var results: Results {
        Synthetic.results(
            [(100, 200), (200, 400), (300, 3000)]
                .map { floor, backend in
                    [
                        Synthetic.cell(Synthetic.key("timerfd"), Array(repeating: backend, count: 40)),
                        Synthetic.cell(
                            Synthetic.key(RowKey.floor, .reference),
                            Array(repeating: floor, count: 40)
                        ),
                    ]
                }
        )
    }

    private func value(_ name: String, _ row: RowReport) throws -> Double? {
        let figure = try #require(Figure.all.first { $0.name == name })
        return figure(row)
    }

    @Test func aRowIsTheSumOfItsRounds() throws {
        let row = try #require(Report(results).rows.first)
        #expect(row.key.row == "timerfd")
        #expect(row.ticks == 120)
        #expect(row.missed == 0)
        #expect(row.lateness.moments.min == 200)
        #expect(row.lateness.moments.max == 3000)
        #expect(row.lateness.moments.mean == 1200)
        #expect(row.lateness.percentile(50) == 400)
        #expect(row.lateness.percentile(99) == 3000)
        #expect(try value("jitter.p99-p50", row) == 2600)
        #expect(row.corrected == row.lateness)
        #expect(row.drift?.ppm == 0)
        #expect(row.cpuPercent == 1)
        #expect(try value("wakeups", row) == 1)
        #expect(try value("switches", row) == 1)
    }

    @Test func turnsAddUpToARound() {
        let timerFD = Synthetic.key("timerfd")
        var cell = Synthetic.cell(timerFD, [100, 300])
        cell.add(Synthetic.cell(timerFD, [200, -5], at: 500))
        #expect(cell.ticks == 4)
        #expect(cell.early == 1)
        #expect(cell.lateness.moments.count == 4)
        #expect(cell.lateness.moments.max == 300)
        #expect(cell.cost.wakeUps == 4)
        #expect(cell.stretches.all.map(\.time) == [0, 500])
        #expect(cell.problem == "1 of 2 ticks came before their deadline")
        #expect(Report(Synthetic.results([[cell]])).problems == ["timerfd, round 1: \(cell.problem ?? "")"])
    }

    @Test func roundsOfSeveralMachinesAreOneRow() throws {
        let rounds = [[Int64](repeating: 100, count: 990), [Int64](repeating: 10_000, count: 10)]
            .map { [Synthetic.cell(Synthetic.key("timerfd"), $0)] }
        let merged = Results(
            hosts: [Synthetic.host, Synthetic.host],
            options: results.options,
            rounds: [Round(host: 0, cells: rounds[0]), Round(host: 1, cells: rounds[1])]
        )
        let row = try #require(Report(merged).rows.first)
        #expect(row.ticks == 1000)
        // This is the p99 of all ticks. The mean of the machines' p99 would be 5,050.
        #expect(row.lateness.percentile(99) == 100)
        #expect(row.lateness.moments.max == 10_000)
    }

    @Test func theFloorRatioIsTheMedianOfTheRoundsRatios() {
        let report = Report(results)
        #expect(report.rows.map(\.floorRatio50) == [2, 1])
        #expect(report.rows.map(\.floorRatio99) == [2, 1])
    }

    @Test func theFloorIsThatOfTheSameLoad() {
        let cells = [("idle", Int64(100)), ("cpu:2", 500)]
            .flatMap { load, floor in
                [
                    Synthetic.cell(Synthetic.key("timerfd", load: load), Array(repeating: 1000, count: 40)),
                    Synthetic.cell(
                        Synthetic.key(RowKey.floor, .reference, load: load),
                        Array(repeating: floor, count: 40)
                    ),
                ]
            }
        #expect(Report(Synthetic.results([cells])).rows.map(\.floorRatio50) == [10, 1, 2, 1])
    }

    @Test func aFloorOfZeroGivesNoRatio() throws {
        let zeroes = Synthetic.cell(Synthetic.key(RowKey.floor, .reference), Array(repeating: 0, count: 40))
        let row = try #require(Report(Synthetic.results([[zeroes]])).rows.first)
        #expect(row.floorRatio50 == nil)
        #expect(row.floorRatio99 == nil)
    }

    @Test func aSingleTickHasNoDriftAndNoJitter() throws {
        let report = Report(Synthetic.results([[Synthetic.cell(Synthetic.key("timerfd"), [100])]]))
        let row = try #require(report.rows.first)
        #expect(row.drift == nil)
        #expect(try value("jitter.stddev", row) == 0)
        #expect(try value("drift slope", row) == nil)
    }

    @Test func missingRoundsMakeResultsPartial() {
        #expect(!results.isPartial)
        let partial = Synthetic.results(results.rounds.map(\.cells), asked: 4)
        #expect(partial.isPartial)
    }

    @Test func resultsArePartialIfRoundsOrTurnsAreMissing() {
        let cell = Synthetic.cell(Synthetic.key("timerfd"), [1, 2])
        let whole = Synthetic.results([[cell], [cell]])
        #expect(!whole.isPartial)
        #expect(Synthetic.results([[cell], [cell]], asked: 3).isPartial)
        let rounds = [Round(cells: [cell]), Round(isComplete: false, cells: [cell])]
        #expect(Results(hosts: whole.hosts, options: whole.options, rounds: rounds).isPartial)
    }
}
