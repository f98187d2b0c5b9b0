import ResultsSupport
import Testing
import TimerResults

/// Reading rules, and applying them.
@Suite struct RuleTests {
    private let timerFD = Synthetic.key("timerfd")
    private let loaded = Synthetic.key("timerfd", load: "handler:1.5ms")
    private let floor = Synthetic.key("floor-timerfd", .reference)

    /// timerfd has the given lateness, ten times as much under a load, and the floor half as much.
    private func report(lateness: Int64) -> Report {
        Report(
            Synthetic.results([
                [
                    Synthetic.cell(timerFD, Array(repeating: lateness, count: 40)),
                    Synthetic.cell(loaded, Array(repeating: 10 * lateness, count: 40)),
                    Synthetic.cell(floor, Array(repeating: lateness / 2, count: 40)),
                ]
            ])
        )
    }

    private func failures(_ rule: String, lateness: Int64 = 1000, baseline: Int64? = nil) throws -> [String] {
        try Judgement([Rule.parse(rule)], of: report(lateness: lateness), baseline: baseline.map(report)).failures
    }

    @Test func aRuleHasARowAFigureASideAndABound() throws {
        let rule = try Rule.parse(" timerfd@handler:1.5ms.lateness.p99 >200us")
        #expect(rule.row == "timerfd@handler:1.5ms")
        #expect(rule.figure.name == "lateness.p99")
        #expect(rule.side == .above)
        #expect(rule.bound == .value(200_000))
        #expect(try Rule.parse("floor-timerfd.corrected.p99.9 < 1.25x").bound == .timesBaseline(1.25))
        #expect(try Rule.parse("timerfd.drift > 50ppm").bound == .value(50))
        #expect(try Rule.parse("timerfd.cpu > 2.5%").bound == .value(2.5))
        #expect(try Rule.parse("timerfd.floor.p50 > 1.5").bound == .value(1.5))
    }

    @Test func everyFigureOfRulesCanBeNamedAndComputed() throws {
        let row = try #require(report(lateness: 1000).rows.first)
        for figure in Figure.ofRules where figure.name != "drift" {
            let bound = figure.bounds == .valueOrMultiple ? "2x" : figure.unit == .percent ? "1%" : "1us"
            let rule = try Rule.parse("timerfd.\(figure.name) > \(bound)")
            #expect(rule.figure == figure)
            #expect(figure(row) != nil)
        }
        #expect(Set(Figure.all).count == Figure.all.count)
    }

    @Test(arguments: [
        "", ">", "timerfd", "timerfd.lateness.p99", "timerfd.lateness.p99 >", "timerfd.lateness.p99 > 5",
        "timerfd.lateness.p99 > -5us", "timerfd.lateness.p99 > x", "timerfd.lateness.p99 > nanx",
        "timerfd.lateness.p99 > 1e5us", "timerfd.lateness.p98 > 5us", "lateness.p99 > 5us", ".lateness.p99 > 5us",
        "timerfd.cpu > 5ms", "timerfd.wakeups > 5%", "timerfd.floor.p50 > 1us", "timerfd.missed > 2x",
        "timerfd.drift > 1.2x", "timerfd.lateness.p99 = 5us", "timerfd.lateness.p99 > 99999999999999999999us",
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
                "timerfd@handler:1.5ms.lateness.p50 > 9us: timerfd@handler:1.5ms.lateness.p50 is 10.0us"
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

    @Test func aMultipleIsOfTheBaselinesFigure() throws {
        #expect(
            try failures("floor-timerfd.lateness.p50 > 1.2x", lateness: 1220, baseline: 1000) == [
                "floor-timerfd.lateness.p50 > 1.2x: floor-timerfd.lateness.p50 is 0.6us, 1.22x of the baseline's 0.5us"
            ]
        )
        #expect(try failures("floor-timerfd.lateness.p50 > 1.2x", lateness: 1180, baseline: 1000).isEmpty)
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
        #expect(figure.bounds == .value)
    }

    @Test func oneMissedDeadlineInManyFailsARuleOfZero() throws {
        let ticks =
            [Point(time: 0, lateness: 1_500_000)]
            + (2..<640_000).map { Point(time: UInt64($0) * 1_000_000, lateness: 1) }
        let cell = Synthetic.cell(timerFD, ticks, cost: Cost(cpu: 1, wakeUps: 1, contextSwitches: 1))
        let report = Report(Synthetic.results([[cell]]))
        #expect(try Judgement([Rule.parse("timerfd.missed > 0%")], of: report, baseline: nil).failures.count == 1)
    }

    @Test func aRuleAboutAnUnmeasuredRowIsRefused() {
        #expect(throws: Problem.self) { try failures("dispatch.lateness.p50 > 1s") }
        #expect(throws: Problem.self) { try failures("timerfd.lateness.p50 > 1.2x") }
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
        try check("timerfd.lateness.p50 > 2x", baseline)
        #expect(throws: Problem.self) { try check("timerfd.lateness.p50 > 2x", nil) }
        #expect(throws: Problem.self) { try check("floor-timerfd.lateness.p50 > 2x", baseline) }
        #expect(throws: Problem.self) { try check("dispatch.lateness.p50 > 2us", baseline) }
        // First the baseline has no floor, then the measurement has no floor.
        #expect(throws: Problem.self) { try check("timerfd.floor.p50 > 2x", baseline) }
        #expect(throws: Problem.self) {
            try Judgement.check([Rule.parse("timerfd.floor.p50 > 2")], for: [timerFD], baseline: nil)
        }
        try check("timerfd.floor.p50 > 2", nil)
    }
}
