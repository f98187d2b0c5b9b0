import FoundationEssentials
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
        cell.add(Synthetic.cell(timerFD, [200, -5]))
        #expect(cell.ticks == 4)
        #expect(cell.early == 1)
        #expect(cell.lateness.moments.count == 4)
        #expect(cell.lateness.moments.max == 300)
        #expect(cell.cost.wakeUps == 4)
        #expect(cell.problem == "1 of 2 ticks came before their deadline")
        #expect(Report(Synthetic.results([[cell]])).problems == ["timerfd, round 1: \(cell.problem ?? "")"])
    }

    @Test func roundsOfSeveralMachinesAreOneRow() throws {
        let rounds = [[Int64](repeating: 100, count: 990), [Int64](repeating: 10_000, count: 10)]
            .map { [Synthetic.cell(Synthetic.key("timerfd"), $0)] }
        let merged = Results(
            hosts: [Synthetic.host, Synthetic.host],
            options: results.options,
            rounds: [Round(host: 0, laps: 1, cells: rounds[0]), Round(host: 1, laps: 1, cells: rounds[1])]
        )
        let row = try #require(Report(merged).rows.first)
        #expect(row.ticks == 1000)
        // This is the p99 of all ticks. The mean of the machines' p99 would be 5,050.
        #expect(row.lateness.percentile(99) == 100)
        #expect(row.lateness.moments.max == 10_000)
    }

    @Test func theFloorRatioIsTheMiddleOfTheLapsRatios() throws {
        // One lap of nine is five times as late as the others.
        let laps = (0..<9)
            .map { lap in
                [
                    (Synthetic.key("timerfd"), lap == 4 ? Int64(1000) : 200),
                    (Synthetic.key(RowKey.floor, .reference), 100),
                ]
                .map { Synthetic.cell($0, Array(repeating: $1, count: 40)) }
            }
        let ratios = Report(Synthetic.results(laps)).rows.compactMap { $0.floor50?.estimate }
        #expect(abs(ratios[0] - 2) < 1e-6)
        #expect(ratios[1] == 1)
    }

    @Test func fewerThanAHundredDeadlinesHaveNoTail() throws {
        #expect(Report(results).rows.map(\.floor95) == [nil, nil])
        let cells = [("timerfd", Int64(300)), (RowKey.floor, 100)]
            .map { Synthetic.cell(Synthetic.key($0), Array(repeating: $1, count: 100)) }
        let row = try #require(Report(Synthetic.results([cells])).rows.first)
        #expect(row.floor95 == nil, "the floor is not in it: its kind is another")
        #expect(try value("lateness.p99", row) == 300)
        #expect(try value("lateness.p99.9", row) == nil)
        #expect(try value("lateness.p99", try #require(Report(results).rows.first)) == 3000, "of 120 ticks")
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
        let ratios = Report(Synthetic.results([cells])).rows.compactMap { $0.floor50?.estimate.rounded() }
        #expect(ratios == [10, 1, 2, 1])
    }

    @Test func aFloorOfZeroGivesNoRatio() throws {
        let zeroes = Synthetic.cell(Synthetic.key(RowKey.floor, .reference), Array(repeating: 0, count: 40))
        let row = try #require(Report(Synthetic.results([[zeroes]])).rows.first)
        #expect(row.floor50 == nil)
        #expect(row.floor95 == nil)
    }

    @Test func aSingleTickHasNoDriftAndNoJitter() throws {
        let report = Report(Synthetic.results([[Synthetic.cell(Synthetic.key("timerfd"), [100])]]))
        let row = try #require(report.rows.first)
        #expect(row.drift == nil)
        #expect(try value("jitter.stddev", row) == 0)
        #expect(try value("drift slope", row) == nil)
    }

    @Test func resultsArePartialIfLapsAreMissing() {
        let cell = Synthetic.cell(Synthetic.key("timerfd"), [1, 2])
        let whole = Synthetic.results([[cell], [cell]])
        #expect(!whole.isPartial)
        #expect(whole.missingLaps == nil)
        #expect(Synthetic.results([[cell], [cell]], asked: 3).missingLaps == "only 2 of 3 laps were completed")
        let rounds = [Round(laps: 1, cells: [cell]), Round(laps: 0, isComplete: false, cells: [cell])]
        #expect(Results(hosts: whole.hosts, options: whole.options, rounds: rounds).isPartial)
    }
}

@Suite struct LateTicksTests {
    private func late(_ causes: LateTicks.Cause...) -> LateTicks {
        causes.reduce(into: LateTicks(threshold: 1_000_000)) { $0.add($1) }
    }

    @Test func theMostFrequentCauseIsNamedFirst() {
        #expect(
            late(.stalled, .waited, .waited).words
                == "3 ticks later than 1 ms: 2 waited for a processor, 1 held up by the host or by another thread"
        )
        #expect(late(.idle).words == "1 tick later than 1 ms: 1 waited for an idle processor to wake up")
        #expect(late().words == "no tick later than 1 ms")
    }

    @Test func theCausesOfTwoTurnsAddUp() {
        var cell = Synthetic.cell(Synthetic.key("timerfd"), [5], late: late(.waited))
        cell.add(Synthetic.cell(Synthetic.key("timerfd"), [5]))
        cell.add(Synthetic.cell(Synthetic.key("timerfd"), [5], late: late(.waited, .unseen)))
        #expect(cell.late == late(.waited, .waited, .unseen))
        #expect(cell.late?[.waited] == 2)
        #expect(cell.late?.count == 3)
    }

    @Test func causesWithoutACountAreNone() {
        #expect(Synthetic.cell(Synthetic.key("timerfd"), [5]).late == nil)
        #expect(late(.waited)[.worked] == 0)
    }
}

struct HostTests {
    @Test
    func factsMissingInAnOlderFileAreUnknown() throws {
        let text = #"{"os":"Linux","kernel_release":"6.1","machine":"x","processors_online":2,"build":"release"}"#
        let host = try JSONDecoder().decode(Host.self, from: Data(text.utf8))
        #expect(host.clockSource == nil && host.cpuQuota == nil && host.usableProcessors == nil)
        #expect(host.summary == "Linux 6.1 x, 2 processors, release build")
    }
}
