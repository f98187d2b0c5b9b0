import ResultsSupport
import Testing
import TimerResults

/// Merging, comparing and recommending.
@Suite struct DecisionTests {
    private let timerFD = Synthetic.key("timerfd")
    private let dispatch = Synthetic.key("dispatch")
    private let floor = Synthetic.key("floor-timerfd", .reference)

    /// Rounds with a lateness for each row, in nanoseconds. It grows a little from round to round.
    private func results(rounds: Int = 8, timerFD: Int64, dispatch: Int64, floor: Int64 = 1000) -> Results {
        Synthetic.results(
            (0..<rounds)
                .map { round in
                    [(self.timerFD, timerFD), (self.dispatch, dispatch), (self.floor, floor)]
                        .map { Synthetic.cell($0, Array(repeating: $1 + Int64(round), count: 40)) }
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
        #expect(merged.options.rounds == 2)
        #expect(merged.hosts == [Synthetic.host])
        #expect(!merged.isPartial)
    }

    @Test func mergedResultsKnowTheirHosts() throws {
        let other = Host(system: "Linux", kernel: "6.2", machine: "arm64", cpu: nil, processors: 8, build: .release)
        var second = results(rounds: 2, timerFD: 1, dispatch: 2)
        second = Results(hosts: [other], options: second.options, rounds: second.rounds)
        let merged = try Results.merged([results(rounds: 1, timerFD: 1, dispatch: 2), second])
        #expect(merged.hosts == [Synthetic.host, other])
        #expect(merged.rounds.map(\.host) == [0, 1, 1])
        let again = try Results.merged([merged, second])
        #expect(again.rounds.map(\.host) == [0, 1, 1, 1, 1])
    }

    @Test func differentQuestionsAreNotMerged() {
        let one = results(timerFD: 1, dispatch: 2)
        for change: (inout Options) -> Void in [
            { $0.period += 1 }, { $0.timers = 2 }, { $0.delivery = "queue" }, { $0.clock = "wall" },
            { $0.duration += 1 },
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
        let one = results(rounds: 1, timerFD: 1, dispatch: 2)
        let host = Self.host(clockRead: 27.3)
        let other = Results(hosts: [host], options: one.options, rounds: one.rounds)
        #expect(try Results.merged([one, other]).hosts == [Synthetic.host])
    }

    @Test func resultsWithTooManyRoundsAreNotMerged() throws {
        let many = results(rounds: 600, timerFD: 1, dispatch: 2)
        let problem = #expect(throws: Problem.self) { try Results.merged([many, many]) }
        #expect(problem?.description == "together it has 1200 rounds, and 1000 are the most")
    }

    @Test func mergedRowsKeepTheOrderOfTheOptions() throws {
        var partial = results(rounds: 1, timerFD: 1, dispatch: 2)
        partial = Results(
            hosts: partial.hosts,
            options: partial.options,
            rounds: [Round(isComplete: false, cells: partial.rounds[0].cells.suffix(2))]
        )
        let report = Report(try Results.merged([partial, results(rounds: 1, timerFD: 1, dispatch: 2)]))
        #expect(report.rows.map(\.key) == [timerFD, dispatch, floor])
        #expect(report.pairs.map(\.first) == [timerFD, timerFD])
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

    @Test func fewRoundsAreReportedAsTooFew() {
        let few = Report(results(rounds: 7, timerFD: 50_000, dispatch: 40_000))
        let enough = Report(results(rounds: 8, timerFD: 50_000, dispatch: 40_000))
        #expect(Difference(old: few, new: enough).problem?.contains("and these are 7") == true)
        #expect(Difference(old: enough, new: enough).problem == nil)
        #expect(Recommendation(.init(), from: few).description.contains("and these are 7"))
        #expect(Recommendation(.init(lateness: 60_000), from: few).problem == nil)
        #expect(Recommendation(.init(), from: enough).problem == nil)
    }

    @Test func aDifferenceComparesEachRow() throws {
        let old = Report(results(timerFD: 10_000, dispatch: 20_000))
        let new = Report(results(timerFD: 15_000, dispatch: 20_000))
        let difference = Difference(old: old, new: new)
        let median = try #require(difference.lines.first { $0.key == timerFD && $0.figure.name == "lateness.p50" })
        #expect(median.ratio == 1.5)
        #expect(median.verdict == .slower)
        let equal = try #require(difference.lines.first { $0.key == dispatch && $0.figure.name == "lateness.p50" })
        #expect(equal.verdict == .indistinguishable)
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
        #expect(Recommendation(.init(), from: report).choice?.row == "dispatch")
        #expect(Recommendation(.init(cpu: 5), from: report).choice?.row == "timerfd")
    }

    @Test func missedDeadlinesCountInARecommendation() {
        // One tick of 202 is late, and carries 49 missed deadlines.
        let ticks = (0..<200).map { Point(time: $0 * 1_000_000, lateness: 100) }
        let late = [Point(time: 200_000_000, lateness: 49_500_000), Point(time: 250_000_000, lateness: 100)]
        let cell = Synthetic.cell(timerFD, ticks + late, cost: Cost(cpu: 1, wakeUps: 1, contextSwitches: 1))
        let report = Report(Synthetic.results([[cell]]))
        #expect(report.rows[0].lateness.percentile(99) == 100)
        #expect(Recommendation(.init(lateness: 1_000_000), from: report).choice == nil)
        #expect(Recommendation(.init(lateness: 49_600_000), from: report).choice != nil)
    }

    @Test func aBackendThatBreaksAPromiseIsNotRecommended() {
        let report = Report(
            Synthetic.results([[Synthetic.cell(timerFD, [5, -5]), Synthetic.cell(dispatch, [5, 5])]])
        )
        let recommendation = Recommendation(.init(lateness: 1_000), from: report)
        #expect(recommendation.choice?.row == "dispatch")
        #expect(recommendation.candidates.last?.problem == "1 of 2 ticks came before their deadline")
    }

    @Test func theCheapestGoodEnoughBackendIsRecommended() {
        // Both cost 1 % of a processor per ms and tick; dispatch is less late.
        let report = Report(results(timerFD: 50_000, dispatch: 40_000))
        #expect(Recommendation(.init(lateness: 60_000), from: report).choice?.row == "dispatch")
        #expect(Recommendation(.init(lateness: 45_000), from: report).choice?.row == "dispatch")
        #expect(Recommendation(.init(lateness: 30_000), from: report).choice == nil)
        #expect(Recommendation(.init(lateness: 60_000, cpu: 0.5), from: report).choice == nil)
        let free = Recommendation(.init(), from: report)
        #expect(free.choice?.row == "dispatch")
        #expect(free.candidates.last?.problem?.contains("later than dispatch") == true)
    }

    @Test func aBackendIndistinguishableFromTheBestIsGoodEnough() {
        let report = Report(results(timerFD: 50_000, dispatch: 50_000))
        let problems = Recommendation(.init(), from: report).candidates.compactMap(\.problem)
        #expect(problems.isEmpty)
    }

    @Test func referencesAreNotRecommended() {
        let report = Report(results(timerFD: 50_000, dispatch: 40_000, floor: 10))
        let rows = Recommendation(.init(), from: report).candidates.map(\.row)
        #expect(rows == ["dispatch", "timerfd"])
    }
}
