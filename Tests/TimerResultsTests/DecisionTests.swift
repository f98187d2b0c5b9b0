import ResultsSupport
import Testing
import TimerResults

/// Merging, comparing and recommending.
@Suite struct DecisionTests {
    private let timerFD = Synthetic.key("timerfd")
    private let dispatch = Synthetic.key("dispatch")
    private let floor = Synthetic.key("floor-timerfd", .reference)

    /// Laps with a lateness for each row, in nanoseconds. It grows a little from lap to lap.
    private func results(laps: Int = 8, timerFD: Int64, dispatch: Int64, floor: Int64 = 1000) -> Results {
        Synthetic.results(
            (0..<laps)
                .map { lap in
                    [(self.timerFD, timerFD), (self.dispatch, dispatch), (self.floor, floor)]
                        .map { Synthetic.cell($0, Array(repeating: $1 + Int64(lap), count: 40)) }
                }
        )
    }

    @Test func mergedPercentilesAreThoseOfAllTicks() throws {
        // The mean of the two p99 would be 50,050 ns.
        let quiet = Synthetic.results([[Synthetic.cell(timerFD, Array(repeating: 100, count: 990))]])
        let late = Synthetic.results([[Synthetic.cell(timerFD, Array(repeating: 100_000, count: 10))]])
        let merged = try Results.merged([quiet, late])
        let row = try #require(Report(merged).rows.first)
        #expect(row.ticks == 1000)
        #expect(row.lateness.percentile(99) == 100)
        #expect(row.lateness.moments.max == 100_000)
        #expect(merged.options.laps == 2)
        #expect(merged.hosts == [Synthetic.host])
        #expect(!merged.isPartial)
    }

    @Test func mergedResultsKnowTheirHosts() throws {
        let other = Host(system: "Linux", kernel: "6.2", machine: "arm64", cpu: nil, processors: 8, build: .release)
        var second = results(laps: 2, timerFD: 1, dispatch: 2)
        second = Results(hosts: [other], options: second.options, rounds: second.rounds)
        let merged = try Results.merged([results(laps: 1, timerFD: 5, dispatch: 6), second])
        #expect(merged.hosts == [Synthetic.host, other])
        #expect(merged.rounds.map(\.host) == [0, 1, 1])
        let third = results(laps: 1, timerFD: 3, dispatch: 4)
        let again = try Results.merged([merged, Results(hosts: [other], options: third.options, rounds: third.rounds)])
        #expect(again.rounds.map(\.host) == [0, 1, 1, 1])
    }

    @Test func twoBuildsStandSideBySide() throws {
        let lap = try LapOfBuilds(
            this: results(laps: 1, timerFD: 100, dispatch: 200),
            other: results(laps: 1, timerFD: 300, dispatch: 400)
        )
        let round = Round(of: [lap, lap])
        #expect(round.laps == 2)
        let other = try #require(round[Synthetic.key("other:timerfd", .peer)])
        #expect(other.medians == [300, 300])
        #expect(round[timerFD]?.medians == [100, 100])
        #expect(other.key.rival == "timerfd")
        var options = lap.this.options
        options.period += 1
        let stranger = Results(hosts: lap.other.hosts, options: options, rounds: lap.other.rounds)
        #expect(throws: Problem.self) { try LapOfBuilds(this: lap.this, other: stranger) }
        let debug = Host(system: "Linux", kernel: "6.1", machine: "x86_64", cpu: "A CPU", processors: 2, build: .debug)
        let slow = Results(hosts: [debug], options: lap.this.options, rounds: lap.other.rounds)
        #expect(throws: Problem.self) { try LapOfBuilds(this: lap.this, other: slow) }
    }

    @Test func explainedTicksOfTwoThresholdsAreNotMerged() {
        let one = results(timerFD: 1, dispatch: 2)
        var options = one.options
        options.lateThreshold = 500_000
        let other = Results(hosts: one.hosts, options: options, rounds: results(timerFD: 3, dispatch: 4).rounds)
        #expect(throws: Problem.self) { try Results.merged([one, other]) }
    }

    @Test func aBackendThatIsEarlierInTheMiddleAndLaterInTheTailSharesTheLead() throws {
        func cell(_ key: RowKey, _ lap: Int, middle: Int64, tail: Int64) -> Cell {
            let ticks = [Int64](repeating: middle, count: 90) + [Int64](repeating: tail, count: 10)
            return Synthetic.cell(key, ticks.map { $0 + Int64(lap) })
        }
        let laps = (0..<10)
            .map { lap in
                [
                    cell(timerFD, lap, middle: 50_000, tail: 500_000),
                    cell(dispatch, lap, middle: 60_000, tail: 61_000),
                ]
            }
        let recommendation = Recommendation(.init(), from: Report(Synthetic.results(laps)))
        #expect(recommendation.isDivided)
        #expect(recommendation.choices.count == 2)
        #expect(recommendation.headline.contains("one is earlier in the middle, another in the tail"))
    }

    @Test func noBackendIsTheEarliestIfEachLosesUnderALoad() {
        let loads = ["idle", "cpu:2"]
        let laps = (0..<10)
            .map { lap in
                loads.flatMap { load in
                    ["timerfd", "dispatch"]
                        .map { row in
                            let isLater = (row == "timerfd") == (load == "idle")
                            let lateness = (isLater ? 90_000 : 50_000) + Int64(lap)
                            return Synthetic.cell(Synthetic.key(row, load: load), Array(repeating: lateness, count: 40))
                        }
                }
            }
        let report = Report(Synthetic.results(laps, loads: loads))
        #expect(Recommendation(.init(), from: report).headline == "No backend is the earliest under every load.")
        let wish = Recommendation.Wish(lateness: 1)
        #expect(Recommendation(wish, from: report).headline == "No backend meets that here.")
    }

    @Test func fewerThanAHundredDeadlinesHaveNoRecommendedLateness() {
        let report = Report(results(laps: 2, timerFD: 100, dispatch: 200))
        let recommendation = Recommendation(.init(lateness: 1_000_000), from: report)
        #expect(recommendation.choices.isEmpty)
        #expect(recommendation.description.contains("fewer than 100 deadlines, which is too short to tell"))
        #expect(!Recommendation(.init(), from: report).description.contains("99 of 100"))
    }

    @Test func differentQuestionsAreNotMerged() {
        let one = results(timerFD: 1, dispatch: 2)
        for change: (inout Options) -> Void in [
            { $0.period += 1 }, { $0.timers = 2 }, { $0.delivery = "queue" }, { $0.clock = "wall" },
            { $0.turn += 1 },
        ] {
            var options = one.options
            change(&options)
            let other = Results(hosts: one.hosts, options: options, rounds: one.rounds)
            #expect(throws: Problem.self) { try Results.merged([one, other]) }
        }
        #expect(throws: Problem.self) { try Results.merged([]) }
    }

    @Test func runsOfOneMachineHaveOneHost() throws {
        // Each run measures the price of reading the clock again.
        let one = results(laps: 1, timerFD: 1, dispatch: 2)
        let host = Self.host(clockRead: 27.3)
        let later = results(laps: 1, timerFD: 3, dispatch: 4)
        let other = Results(hosts: [host], options: later.options, rounds: later.rounds)
        #expect(try Results.merged([one, other]).hosts == [Synthetic.host])
    }

    @Test func resultsWithTooManyLapsAreNotMerged() throws {
        func many(_ lateness: Int64) -> Results {
            let cell = Synthetic.cell(timerFD, [lateness])
            return Results(
                hosts: [Synthetic.host],
                options: Synthetic.results([[cell]]).options,
                rounds: [Round(laps: 60_000, cells: [cell])]
            )
        }
        let problem = #expect(throws: Problem.self) { try Results.merged([many(1), many(2)]) }
        #expect(problem?.description == "together it has 120000 laps, and 100000 are the most")
    }

    /// Otherwise every row would have each of its laps twice, and any chance difference would be a clear one.
    @Test func aMeasurementIsNotMergedWithItself() throws {
        let (one, other) = (results(timerFD: 1, dispatch: 2), results(timerFD: 3, dispatch: 4))
        let merged = try Results.merged([one, other])
        for wrong in [[one, one], [merged, one], [other, merged]] {
            let problem = #expect(throws: Problem.self) { try Results.merged(wrong) }
            #expect(problem?.description.contains("same measurement") == true)
        }
    }

    @Test func mergedRowsKeepTheOrderOfTheOptions() throws {
        var partial = results(laps: 1, timerFD: 1, dispatch: 2)
        partial = Results(
            hosts: partial.hosts,
            options: partial.options,
            rounds: [Round(laps: 0, isComplete: false, cells: partial.rounds[0].cells.suffix(2))]
        )
        let report = Report(try Results.merged([partial, results(laps: 1, timerFD: 3, dispatch: 4)]))
        #expect(report.rows.map(\.key) == [timerFD, dispatch, floor])
        #expect(report.pairs.map(\.first) == [timerFD])
    }

    private static func host(
        machine: String = "x86_64",
        kernel: String = "6.1",
        cpu: String? = "A CPU",
        processors: Int = 2,
        build: Host.Build = .release,
        clockSource: String? = "tsc",
        governor: String? = "performance",
        usable: Int? = 2,
        quota: Double? = 1.5,
        clockRead: Double? = 26.1
    ) -> Host {
        Host(
            system: "Linux",
            kernel: kernel,
            machine: machine,
            cpu: cpu,
            processors: processors,
            build: build,
            clockSource: clockSource,
            governor: governor,
            hypervisor: true,
            usableProcessors: usable,
            cpuQuota: quota,
            clockRead: clockRead
        )
    }

    @Test func resultsOfTwoKernelsAreComparableAndOfTwoMachinesAreNot() {
        func difference(_ other: Host) -> String? { Synthetic.host.difference(from: other) }
        for same in [
            Synthetic.host, Self.host(kernel: "7"), Self.host(clockRead: 30),
            // A file of a machine that did not report these facts.
            Self.host(clockSource: nil, governor: nil, usable: nil),
        ] {
            #expect(difference(same) == nil)
        }
        for other in [
            Self.host(machine: "arm64"), Self.host(cpu: nil), Self.host(processors: 4), Self.host(build: .debug),
            Self.host(clockSource: "hpet"), Self.host(governor: "powersave"), Self.host(usable: 1),
            Self.host(quota: nil), Self.host(quota: 1),
        ] {
            #expect(difference(other) != nil)
        }
    }

    @Test func fewLapsAreReportedAsTooFew() {
        let few = Report(results(laps: 7, timerFD: 50_000, dispatch: 50_000))
        let enough = Report(results(laps: 8, timerFD: 50_000, dispatch: 50_000))
        #expect(Recommendation(.init(), from: few).description.contains("measure longer"))
        #expect(Recommendation(.init(lateness: 60_000), from: few).isTooShort == false)
        #expect(Recommendation(.init(), from: enough).isTooShort == false)
    }

    @Test func aDifferenceComparesMultiplesOfTheFloor() throws {
        let old = Report(results(laps: 20, timerFD: 10_000, dispatch: 20_000))
        let new = Report(results(laps: 20, timerFD: 15_000, dispatch: 21_000))
        let difference = Difference(old: old, new: new)
        func line(_ key: RowKey, _ name: String) -> Difference.Line? {
            difference.lines.first { $0.key == key && $0.figure.name == name }
        }
        #expect(abs(try #require(line(timerFD, "lateness.p50")?.ratio) - 1.5) < 0.01)
        #expect(try #require(line(timerFD, "lateness.p50")).known == nil, "the host may have changed")
        #expect(try #require(line(timerFD, "floor.p50")).known?.verdict == .later)
        // Two runs of one program differ by more than that.
        #expect(try #require(line(dispatch, "floor.p50")).known?.verdict == .same)
        #expect(try #require(line(floor, "floor.p50")).known == nil)
        #expect(difference.unmatched.isEmpty)
    }

    @Test func rowsOfOnlyOneResultAreNamed() {
        let old = Report(Synthetic.results([[Synthetic.cell(timerFD, [1, 2])]]))
        let new = Report(Synthetic.results([[Synthetic.cell(dispatch, [1, 2])]]))
        let difference = Difference(old: old, new: new)
        #expect(difference.lines.isEmpty)
        #expect(
            difference.unmatched == [
                "timerfd is in the old results only", "dispatch is in the new results only",
            ]
        )
    }

    @Test func aBackendThatIsTooExpensiveSetsNoStandard() {
        // The row that is less late costs ten times as much.
        let rounds = (0..<8)
            .map { _ in
                [(timerFD, Int64(50_000), Int64(1)), (dispatch, 40_000, 10)]
                    .map { row, lateness, price in
                        let ticks = (0..<40).map { Point(time: $0 * 1_000_000, lateness: lateness) }
                        let cost = Cost(cpu: price * 400_000, wakeUps: 40, contextSwitches: 40)
                        return Synthetic.cell(row, ticks, cost: cost)
                    }
            }
        let report = Report(Synthetic.results(rounds))
        #expect(Recommendation(.init(), from: report).choices.first?.row == "dispatch")
        #expect(Recommendation(.init(cpu: 5), from: report).choices.first?.row == "timerfd")
    }

    @Test func missedDeadlinesCountInARecommendation() {
        // One tick of 202 is late, and carries 49 missed deadlines.
        let ticks = (0..<200).map { Point(time: $0 * 1_000_000, lateness: 100) }
        let late = [Point(time: 200_000_000, lateness: 49_500_000), Point(time: 250_000_000, lateness: 100)]
        let cell = Synthetic.cell(timerFD, ticks + late, cost: Cost(cpu: 1, wakeUps: 1, contextSwitches: 1))
        let report = Report(Synthetic.results([[cell]]))
        #expect(report.rows[0].lateness.percentile(99) == 100)
        #expect(Recommendation(.init(lateness: 1_000_000), from: report).choices.isEmpty)
        #expect(Recommendation(.init(lateness: 49_600_000), from: report).choices.isEmpty == false)
    }

    @Test func aBackendThatBreaksAPromiseIsNotRecommended() {
        let report = Report(
            Synthetic.results([
                [
                    Synthetic.cell(timerFD, [-5] + Array(repeating: 5, count: 99)),
                    Synthetic.cell(dispatch, Array(repeating: 5, count: 100)),
                ]
            ])
        )
        let recommendation = Recommendation(.init(lateness: 1_000), from: report)
        #expect(recommendation.choices.first?.row == "dispatch")
        #expect(recommendation.candidates.last?.problem == "1 of 100 ticks came before their deadline")
    }

    @Test func theCheapestGoodEnoughBackendIsRecommended() {
        // Both cost 1 % of a processor per ms and tick; dispatch is less late.
        let report = Report(results(timerFD: 50_000, dispatch: 40_000))
        #expect(Recommendation(.init(lateness: 60_000), from: report).choices.first?.row == "dispatch")
        #expect(Recommendation(.init(lateness: 45_000), from: report).choices.first?.row == "dispatch")
        #expect(Recommendation(.init(lateness: 30_000), from: report).choices.isEmpty)
        #expect(Recommendation(.init(lateness: 60_000, cpu: 0.5), from: report).choices.isEmpty)
        let free = Recommendation(.init(), from: report)
        #expect(free.choices.first?.row == "dispatch")
        #expect(free.candidates.last?.problem == "p50 1.25 × later (1.25 to 1.25) than dispatch")
        #expect(free.headline == "Take dispatch.")
    }

    @Test func aBackendIndistinguishableFromTheBestIsGoodEnough() {
        let report = Report(results(timerFD: 50_000, dispatch: 50_000))
        let recommendation = Recommendation(.init(), from: report)
        #expect(recommendation.candidates.compactMap(\.problem).isEmpty)
        #expect(recommendation.headline.hasPrefix("Take either timerfd or dispatch: this run cannot tell them apart"))
    }

    @Test func referencesAreNotRecommended() {
        let report = Report(results(timerFD: 50_000, dispatch: 40_000, floor: 10))
        let rows = Recommendation(.init(), from: report).candidates.map(\.row)
        #expect(rows == ["dispatch", "timerfd"])
    }
}
