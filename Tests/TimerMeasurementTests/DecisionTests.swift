import Testing
import TimerMeasurement

/// Merging, comparing and recommending.
@Suite struct DecisionTests {
    private let timerFD = Synthetic.case("timerfd")
    private let dispatch = Synthetic.case("dispatch")
    private let floor = Synthetic.case("floor-timerfd", .reference)

    /// Rounds in which each row is late by its own number of ns, and by a little more in each later round.
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
        let merged = try Merging.merge([quiet, late])
        let row = try #require(Report(merged).rows.first)
        #expect(row.ticks == 1000)
        #expect(row.lateness.p99 == 100)
        #expect(row.lateness.max == 100_000)
        #expect(merged.options.rounds == 2)
        #expect(merged.hosts == [Synthetic.host])
        #expect(!merged.isPartial)
    }

    @Test func mergedResultsKnowTheirHosts() throws {
        let other = Host(system: "Linux", kernel: "6.2", machine: "arm64", cpu: nil, processors: 8, build: .release)
        var second = results(rounds: 2, timerFD: 1, dispatch: 2)
        second = Results(hosts: [other], options: second.options, rounds: second.rounds)
        let merged = try Merging.merge([results(rounds: 1, timerFD: 1, dispatch: 2), second])
        #expect(merged.hosts == [Synthetic.host, other])
        #expect(merged.rounds.map(\.host) == [0, 1, 1])
        let again = try Merging.merge([merged, second])
        #expect(again.rounds.map(\.host) == [0, 1, 1, 1, 1])
    }

    @Test func differentQuestionsAreNotMerged() {
        let one = results(timerFD: 1, dispatch: 2)
        for change: (inout Options) -> Void in [
            { $0.period += 1 }, { $0.timers = 2 }, { $0.delivery = "queue" }, { $0.clock = "wall" },
        ] {
            var options = one.options
            change(&options)
            let other = Results(hosts: one.hosts, options: options, rounds: one.rounds)
            #expect(throws: Merging.Problem.self) { try Merging.merge([one, other]) }
        }
        #expect(throws: Merging.Problem.self) { try Merging.merge([]) }
    }

    @Test func anotherMachineIsNoBaselineAndAnotherKernelIs() {
        func difference(_ other: Host) -> String? { Synthetic.host.difference(from: other) }
        #expect(difference(Synthetic.host) == nil)
        let kernel = Host(system: "Linux", kernel: "7", machine: "x86_64", cpu: "A CPU", processors: 2, build: .release)
        #expect(difference(kernel) == nil)
        for other in [
            Host(system: "Linux", kernel: "6.1", machine: "arm64", cpu: "A CPU", processors: 2, build: .release),
            Host(system: "Linux", kernel: "6.1", machine: "x86_64", cpu: nil, processors: 2, build: .release),
            Host(system: "Linux", kernel: "6.1", machine: "x86_64", cpu: "A CPU", processors: 4, build: .release),
            Host(system: "Linux", kernel: "6.1", machine: "x86_64", cpu: "A CPU", processors: 2, build: .debug),
        ] {
            let difference = difference(other)
            #expect(difference != nil)
        }
    }

    @Test func aDifferenceSaysWhatBecameOfEachCase() throws {
        let old = Report(results(timerFD: 10_000, dispatch: 20_000))
        let new = Report(results(timerFD: 15_000, dispatch: 20_000))
        let difference = Difference(old: old, new: new)
        let median = try #require(difference.lines.first { $0.case == timerFD && $0.figure.name == "lateness.p50" })
        #expect(median.ratio == 1.5)
        #expect(median.verdict == .slower)
        let equal = try #require(difference.lines.first { $0.case == dispatch && $0.figure.name == "lateness.p50" })
        #expect(equal.verdict == .indistinguishable)
        #expect(difference.unmatched.isEmpty)
    }

    @Test func casesThatAreInOneResultOnlyAreNamed() {
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

    @Test func ofThoseGoodEnoughTheCheapestIsRecommended() {
        // Both cost 1 % of a processor per ms and tick; dispatch is the earlier one.
        let report = Report(results(timerFD: 50_000, dispatch: 40_000))
        #expect(Recommendation(.init(lateness: 60_000), from: report).choice?.row == "dispatch")
        #expect(Recommendation(.init(lateness: 45_000), from: report).choice?.row == "dispatch")
        #expect(Recommendation(.init(lateness: 30_000), from: report).choice == nil)
        #expect(Recommendation(.init(lateness: 60_000, cpu: 0.5), from: report).choice == nil)
        let free = Recommendation(.init(), from: report)
        #expect(free.choice?.row == "dispatch")
        #expect(free.candidates.last?.objection?.contains("later than dispatch") == true)
    }

    @Test func whatCannotBeToldFromTheBestIsGoodEnough() {
        let report = Report(results(timerFD: 50_000, dispatch: 50_000))
        let objections = Recommendation(.init(), from: report).candidates.compactMap(\.objection)
        #expect(objections.isEmpty)
    }

    @Test func referencesAreNotRecommended() {
        let report = Report(results(timerFD: 50_000, dispatch: 40_000, floor: 10))
        let rows = Recommendation(.init(), from: report).candidates.map(\.row)
        #expect(rows == ["dispatch", "timerfd"])
    }
}
