import ResultsSupport
import TestSupport
import Testing
import TimerResults

/// Reading rules, and applying them.
@Suite struct RuleTests {
    private let timerFD = Synthetic.key("timerfd")
    private let loaded = Synthetic.key("timerfd", load: "handler:1.5ms")
    private let floor = Synthetic.key("floor-timerfd", .reference)

    /// timerfd has the given lateness, ten times as much under a load, and the floor half as much.
    private func report(lateness: Int64, ticks: Int = 40, spin: SpinCuts? = nil) -> Report {
        Report(
            Synthetic.results([
                [
                    Synthetic.cell(timerFD, Array(repeating: lateness, count: ticks), spin: spin),
                    Synthetic.cell(loaded, Array(repeating: 10 * lateness, count: ticks)),
                    Synthetic.cell(floor, Array(repeating: lateness / 2, count: ticks)),
                ]
            ])
        )
    }

    private func findings(_ rule: String, lateness: Int64 = 1000) throws -> [Judgement.Finding] {
        try Judgement([Rule.parse(rule)], of: report(lateness: lateness), baseline: nil).findings
    }

    private func failures(_ rule: String, lateness: Int64 = 1000) throws -> [String] {
        try findings(rule, lateness: lateness).filter { $0.outcome == .fail }.map(\.line)
    }

    private func beyond(_ name: String, _ side: Rule.Side, _ value: Double) -> Rule.Condition? {
        Figure.ofRules.first { $0.name == name }.map { .beyond($0, side, value) }
    }

    @Test func aRuleHasARowAFigureASideAndABound() throws {
        let rule = try Rule.parse(" timerfd@handler:1.5ms.lateness.p99 >200us")
        #expect(rule.row == "timerfd@handler:1.5ms")
        #expect(rule.condition == beyond("lateness.p99", .above, 200_000))
        #expect(try Rule.parse("timerfd.drift > 50ppm").condition == beyond("drift", .above, 50))
        #expect(try Rule.parse("timerfd.cpu > 2.5%").condition == beyond("cpu", .above, 2.5))
        #expect(try Rule.parse("timerfd.floor.p50 < 1.5").condition == beyond("floor.p50", .below, 1.5))
    }

    @Test func aRuleOfTwoRowsHasAShare() throws {
        let rule = try Rule.parse("  timerfd@handler:1.5ms.p50  later 5% than dispatch ")
        #expect(rule.row == "timerfd@handler:1.5ms")
        #expect(rule.condition == .later(.p50, 0.05, than: .row("dispatch")))
        #expect(try Rule.parse("timerfd.p95 later 20% than baseline").condition == .later(.p95, 0.2, than: .baseline))
    }

    @Test func everyFigureOfRulesCanBeNamedAndComputed() throws {
        let row = try #require(report(lateness: 1000, ticks: 1001, spin: SpinCuts(cuts: 1)).rows.first)
        for figure in Figure.ofRules where figure.name != "drift" {
            let bound =
                switch figure.unit {
                case .nanoseconds: "1us"
                case .percent: "1%"
                case .partsPerMillion: "1ppm"
                case .count, .perTick, .timesFloor: "1"
                }
            guard case .beyond(figure, .above, _) = try Rule.parse("timerfd.\(figure.name) > \(bound)").condition else {
                Issue.record("\(figure)")
                continue
            }
            #expect(figure(row) != nil, "\(figure)")
        }
        #expect(Set(Figure.all).count == Figure.all.count)
    }

    @Test(arguments: [
        "", ">", "timerfd", "timerfd.lateness.p99", "timerfd.lateness.p99 >", "timerfd.lateness.p99 > 5",
        "timerfd.lateness.p99 > -5us", "timerfd.lateness.p99 > x", "timerfd.lateness.p99 > nanx",
        "timerfd.lateness.p99 > 1e5us", "timerfd.lateness.p98 > 5us", "lateness.p99 > 5us", ".lateness.p99 > 5us",
        "timerfd.cpu > 5ms", "timerfd.wakeups > 5%", "timerfd.floor.p50 > 1us", "timerfd.missed > 2x",
        "timerfd.drift > 1.2x", "timerfd.lateness.p99 >= 5us", "timerfd.lateness.p99 => 5us",
        "timerfd.p50 later 5% than", "timerfd.p50 later 5 than dispatch", "timerfd.p50 later -5% than dispatch",
        "timerfd.p99 later 5% than dispatch", "p50 later 5% than dispatch", ".p50 later 5% than dispatch",
        "timerfd.p50 earlier 5% than dispatch", "timerfd.lateness.p50 > 1.2x",
        "timerfd.lateness.p99 = 5us", "timerfd.lateness.p99 > 99999999999999999999us",
    ])
    func aMalformedRuleIsRefusedInOneLine(text: String) {
        let problem = #expect(throws: Problem.self) { try Rule.parse(text) }
        #expect(problem?.description.isEmpty == false)
        #expect(problem?.description.contains("\n") == false)
    }

    @Test(arguments: ["timerfd.lateness.moments.max > 5ms", "timerfd.corrected.max > 2x", "timerfd.hop.min < 5ns"])
    func noRuleIsAboutTheGreatestOrLeastValue(text: String) {
        let error = #expect(throws: Problem.self) { try Rule.parse(text) }
        #expect(error?.description.contains("stall") == true)
    }

    @Test func aValueBeyondItsBoundFails() throws {
        #expect(
            try failures("timerfd@handler:1.5ms.lateness.p50 > 9us") == [
                "failed: timerfd@handler:1.5ms.lateness.p50 > 9us: timerfd@handler:1.5ms.lateness.p50 is 10.0us"
            ]
        )
        #expect(try failures("timerfd@handler:1.5ms.lateness.p50 > 10us").isEmpty)
        #expect(try failures("floor-timerfd.lateness.p50 < 1us").count == 1)
        #expect(try failures("floor-timerfd.lateness.p50 < 500ns").isEmpty)
    }

    @Test func aRuleWithoutALoadIsAboutEveryLoad() throws {
        #expect(try failures("timerfd.lateness.p50 > 500ns").count == 2)
        #expect(try failures("timerfd.lateness.p50 > 5us").count == 1)
    }

    @Test func anEqualSignIsAnsweredByItsOwnSentence() {
        let problem = #expect(throws: Problem.self) { try Rule.parse("timerfd.lateness.p99 >= 5us") }
        #expect(problem?.description == "write > or <: a figure that equals its bound keeps the rule")
    }

    /// Laps in which timerfd is later than dispatch by a factor, with a spread that alternates and so never hides it.
    private func laps(_ count: Int, factor: Double, spread: Double = 0.3, host: Host = Synthetic.host) -> Report {
        let cell = { (row: RowKey, factor: Double) in
            Synthetic.cell(row, Array(repeating: Int64(100_000 * factor), count: 40))
        }
        let others = [cell(Synthetic.key("dispatch"), 1), cell(floor, 0.5)]
        let results = Synthetic.results(
            (0..<count)
                .map { lap in
                    // Evenly spread between the ends, and out of order.
                    let share = Double(lap * 7 % count) / Double(max(count - 1, 1)) - 0.5
                    return [cell(timerFD, factor * (1 + spread * share))] + others
                }
        )
        return Report(Results(hosts: [host], options: results.options, rounds: results.rounds))
    }

    private func outcome(_ rule: String, _ report: Report, since baseline: Report? = nil) throws -> Judgement.Outcome {
        try Judgement([Rule.parse(rule)], of: report, baseline: baseline).outcome
    }

    @Test func aRuleOfTwoRowsFailsOnlyIfTheWholeIntervalIsAbove() throws {
        let rule = "timerfd.p50 later 10% than dispatch"
        #expect(try outcome(rule, laps(40, factor: 1.3)) == .fail)
        #expect(try outcome(rule, laps(40, factor: 1)) == .pass)
        #expect(try outcome(rule, laps(40, factor: 1.1)) == .undecided)
        #expect(try outcome(rule, laps(7, factor: 3)) == .undecided)
    }

    @Test func anUndecidedRuleSaysHowMuchLongerItTakes() throws {
        let judgement = try Judgement(
            [Rule.parse("timerfd.p50 later 10% than dispatch")],
            of: laps(40, factor: 1.07),
            baseline: nil
        )
        let line = try #require(judgement.findings.first?.line)
        #expect(line.hasPrefix("undecided: timerfd.p50 later 10% than dispatch: timerfd against dispatch: "))
        #expect(line.hasSuffix("s more"))
    }

    @Test func whatNoLengthDecidesIsSaid() throws {
        let same = laps(40, factor: 1)
        let judgement = try Judgement([Rule.parse("timerfd.p50 later 5% than baseline")], of: same, baseline: same)
        #expect(judgement.outcome == .undecided)
        let reason = judgement.findings[0].reason
        #expect(reason.hasSuffix("; two runs differ too much to tell: compare both builds in one run"))
    }

    @Test(arguments: ["timerfd.p50 later 5% than timerfd", "floor-timerfd.p50 later 5% than baseline"])
    func aRowIsNotComparedWithItself(text: String) throws {
        let rule = try Rule.parse(text)
        let report = laps(8, factor: 1)
        #expect(throws: Problem.self) { try Judgement.check([rule], for: report.rows.map(\.key), baseline: report) }
    }

    @Test func aFigureThatIsMissingDecidesNothing() throws {
        let judgement = try Judgement(
            [Rule.parse("timerfd.lateness.p99.9 > 1us")],
            of: laps(8, factor: 1),
            baseline: nil
        )
        #expect(judgement.outcome == .undecided)
        #expect(judgement.findings[0].reason == "timerfd has no lateness.p99.9 in so short a measurement")
    }

    @Test func theTailNeedsRoundsAndNotLaps() throws {
        let rule = try Rule.parse("timerfd.p95 later 5% than dispatch")
        let cells = [timerFD, Synthetic.key("dispatch")]
            .map { Synthetic.cell($0, Array(repeating: 1000, count: 100)) }
        let judgement = try Judgement([rule], of: Report(Synthetic.results([cells, cells])), baseline: nil)
        #expect(judgement.findings[0].reason.hasSuffix("; 8 rounds of 100 deadlines are the fewest"))
    }

    @Test func aRuleIsOneLine() throws {
        #expect(
            try Rule.parse("timerfd.p50 later 5%\n  than dispatch").description == "timerfd.p50 later 5% than dispatch"
        )
        #expect(try Rule.parse("timerfd.lateness.p50\n> 5us").description == "timerfd.lateness.p50 > 5us")
    }

    @Test func aRuleThatIsMadeReadsLikeOneThatIsWritten() throws {
        for share in [0.1, 0.025, 0.0001] {
            let rule = Rule.later("timerfd", .p50, by: share, than: .row("other:timerfd"))
            #expect(try Rule.parse(rule.description) == rule)
        }
    }

    @Test func aRuleOfABaselineComparesMultiplesOfTheFloor() throws {
        let rule = "timerfd.p50 later 20% than baseline"
        let before = laps(40, factor: 1)
        #expect(try outcome(rule, laps(40, factor: 1.5), since: before) == .fail)
        #expect(try outcome(rule, laps(40, factor: 1.02), since: before) == .pass)
        #expect(try outcome(rule, laps(40, factor: 1.2), since: before) == .undecided)
        #expect(throws: Problem.self) { try outcome(rule, before) }
    }

    @Test func aBaselineOfAnotherMachineDecidesNothing() throws {
        let other = Host(system: "Linux", kernel: "6.1", machine: "arm64", cpu: nil, processors: 2, build: .release)
        let judgement = try Judgement(
            [Rule.parse("timerfd.p50 later 20% than baseline")],
            of: laps(40, factor: 9),
            baseline: laps(40, factor: 1, host: other)
        )
        #expect(judgement.outcome == .undecided)
        #expect(judgement.findings[0].reason == "the baseline was measured under other conditions: arm64 and x86_64")
    }

    @Test func aDriftBelowItsNoiseCountsAsZero() throws {
        let figure = try #require(Figure.ofRules.first { $0.name == "drift" })
        func value(_ slope: Int64, _ noise: (Int) -> Int64) -> Double? {
            let latenesses = (0..<100).map { Int64($0) * slope + noise($0) }
            return figure(Report(Synthetic.results([[Synthetic.cell(timerFD, latenesses)]])).rows[0])
        }
        // 200 ns later with each period of 1 ms.
        #expect(value(200) { _ in 0 } == 200)
        #expect(value(0) { Int64($0 / 10 % 2) * 5000 } == 0)
    }

    @Test func oneMissedDeadlineInManyFailsARuleOfZero() throws {
        let ticks =
            [Point(time: 0, lateness: 1_500_000)]
            + (2..<UInt64(Effort.of(64_000, thorough: 640_000))).map { Point(time: $0 * 1_000_000, lateness: 1) }
        let cell = Synthetic.cell(timerFD, ticks, cost: Cost(cpu: 1, wakeUps: 1, contextSwitches: 1))
        let report = Report(Synthetic.results([[cell]]))
        #expect(try Judgement([Rule.parse("timerfd.missed > 0%")], of: report, baseline: nil).outcome == .fail)
    }

    @Test func aRuleAboutAnUnmeasuredRowIsRefused() {
        #expect(throws: Problem.self) { try failures("dispatch.lateness.p50 > 1s") }
        #expect(throws: Problem.self) { try failures("timerfd.p50 later 1% than dispatch") }
        // Without the floor's row under that load there is no multiple of it.
        #expect(throws: Problem.self) { try failures("timerfd@handler:1.5ms.floor.p50 > 1") }
    }

    @Test func aRuleThatCannotBeAppliedIsRefusedBeforeTheMeasurement() throws {
        let cases = [timerFD, floor]
        let baseline = Report(Synthetic.results([[Synthetic.cell(timerFD, [1, 2])]]))
        func check(_ rule: String, _ baseline: Report?) throws {
            try Judgement.check([Rule.parse(rule)], for: cases, baseline: baseline)
        }
        try check("timerfd.lateness.p50 > 1us", nil)
        try check("timerfd.p50 later 5% than floor-timerfd", nil)
        #expect(throws: Problem.self) { try check("dispatch.lateness.p50 > 2us", baseline) }
        #expect(throws: Problem.self) { try check("timerfd.p50 later 5% than dispatch", nil) }
        // There is no baseline; it has no floor; it has all.
        #expect(throws: Problem.self) { try check("timerfd.p50 later 5% than baseline", nil) }
        #expect(throws: Problem.self) { try check("timerfd.p50 later 5% than baseline", baseline) }
        try check("timerfd.p50 later 5% than baseline", report(lateness: 1000))
        #expect(throws: Problem.self) {
            try Judgement.check([Rule.parse("timerfd.floor.p50 > 2")], for: [timerFD], baseline: nil)
        }
        try check("timerfd.floor.p50 > 2", nil)
    }
}
