import PreciseTimer
import Testing
import TimerMeasurement

/// The results of a comparison that never happened, as values, as a table and as JSON.
@Suite struct ReportTests {
    /// Forty ticks a round: timerfd is twice as late as the floor, but for one round of ten times.
    private func report(partialAfterRounds: Int? = nil) throws -> Report {
        let plan = try MeasurementPlan(
            backends: [.timerFD],
            period: .milliseconds(1),
            duration: .milliseconds(40),
            rounds: 3
        )
        let floor = [100, 200, 300].map { Synthetic.round(Array(repeating: $0, count: 40)) }
        let backend = [200, 400, 3000].map { Synthetic.round(Array(repeating: $0, count: 40)) }
        return Report(
            host: Host(system: "Linux", kernel: "6.1", machine: "x86_64", cpu: "A CPU", processors: 2, build: .release),
            options: Report.Options(plan),
            partialAfterRounds: partialAfterRounds,
            rows: [
                RowReport(.backend(.timerFD), period: plan.period, rounds: backend, floor: floor),
                RowReport(.reference(.timerFD), period: plan.period, rounds: floor, floor: floor),
            ]
        )
    }

    @Test func aRowIsTheSumOfItsRounds() throws {
        let row = try #require(try report().rows.first)
        #expect(row.ticks == 120)
        #expect(row.missed == 0)
        #expect(row.lateness.min == 200)
        #expect(row.lateness.max == 3000)
        #expect(row.lateness.mean == 1200)
        #expect(row.lateness.p50 == 400)
        #expect(row.drift == 0)
        #expect(row.wakeUpsPerTick == 1)
    }

    @Test func turnsAddUpToARound() {
        let round = Synthetic.round([100, 300]).adding(Synthetic.round([200, -5]))
        #expect(round.ticks == 4)
        #expect(round.early == 1)
        #expect(round.lateness.moments.count == 4)
        #expect(round.lateness.moments.max == 300)
        #expect(round.wakeUps == 4)
        #expect(round.fault == "1 of 2 ticks came before their deadline")
    }

    @Test func theRatioIsTheMedianOfTheRoundsRatios() throws {
        let report = try report()
        #expect(report.rows.map(\.ratioToFloor.p50) == [2, 1])
        #expect(report.rows.map(\.ratioToFloor.p99) == [2, 1])
    }

    @Test func aFloorOfZeroGivesNoRatio() {
        let rounds = [Synthetic.round(Array(repeating: 0, count: 40))]
        let row = RowReport(.reference(.timerFD), period: 1_000_000, rounds: rounds, floor: rounds)
        #expect(row.ratioToFloor.p50 == nil)
        #expect(row.ratioToFloor.p99 == nil)
    }

    @Test func aSingleTickGivesNoNumberThatIsNone() throws {
        let rounds = [Synthetic.round([100])]
        let row = RowReport(.reference(.timerFD), period: 1_000_000, rounds: rounds, floor: rounds)
        #expect(row.drift == nil)
        #expect(row.lateness.stddev == 0)
        let json = try Report(host: .current, options: try report().options, rows: [row]).json()
        #expect(json.contains("\"ticks\" : 1"))
        #expect(!json.contains("drift_ppm"))
    }

    @Test func theTableIsAligned() throws {
        let lines = ResultTable(try report()).description.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.prefix(7).joined(separator: "\n") == Golden.table)
    }

    @Test func thePartialTableSaysSo() throws {
        let heading = ResultTable(try report(partialAfterRounds: 2)).description.split(separator: "\n").first
        #expect(heading?.hasSuffix("(PARTIAL: only 2 complete)") == true)
    }

    @Test func theJSONIsComplete() throws {
        #expect(try report().json() == Golden.json)
    }

    @Test func thePartialJSONSaysSo() throws {
        #expect(try report(partialAfterRounds: 2).json().contains("\"partial_after_rounds\" : 2"))
    }

    @Test func theModelIsFoundInTheProcessorsFacts() {
        #expect(Host.cpuModel(in: "processor\t: 0\nmodel name\t: AMD  EPYC 7\nflags : a\n") == "AMD EPYC 7")
        #expect(Host.cpuModel(in: "processor\t: 0\nmodel name\n") == nil)
        #expect(Host.cpuModel(in: "") == nil)
    }
}
