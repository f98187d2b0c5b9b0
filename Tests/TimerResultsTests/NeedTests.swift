import ResultsSupport
import Testing
import TimerResults

/// Reading needs.
@Suite struct NeedTests {
    @Test(arguments: [
        "p99 < 200us", "p99 < 200us, cpu < 2%", "timerfd.p99.9 < 1ms", "timerfd@cpu:2.missed < 0.5%",
        "drift < 50ppm, drift > 0ppm", "timerfd.wakeups < 1.5", "timerfd.p50 later 5% than dispatch",
        "timerfd#2.p99 later 0% than timerfd", "timerfd.p50 later 20% than before.json",
    ])
    func aNeedIsReadAndWritten(text: String) throws {
        let need = try Need.parse(text)
        #expect(need.description == text)
        #expect(try Need.parse(need.description) == need)
    }

    @Test func spacesDoNotMatter() throws {
        #expect(try Need.parse("  p99<200us ,cpu  <  2 % ").clauses == Need.parse("p99 < 200us, cpu < 2%").clauses)
        let need = "timerfd.p50 later 5% than dispatch"
        #expect(try Need.parse("timerfd.p50  later 5 % than dispatch").clauses == Need.parse(need).clauses)
    }

    @Test func theClausesAreWhatTheTextSays() throws {
        let need = try Need.parse("p99 < 200us, timerfd.p50 later 5% than dispatch, a.p50 later 1% than b.json")
        #expect(need.clauses.map(\.row) == [nil, "timerfd", "a"])
        #expect(
            need.clauses.map(\.condition) == [
                .below(.p99, 200_000), .later(.p50, 0.05, than: .row("dispatch")),
                .later(.p50, 0.01, than: .file("b.json")),
            ]
        )
        #expect(need.files == ["b.json"])
    }

    @Test(arguments: [
        "", "p99", "p99 < ", "p99 < 200", "p99 < 200us,", "p99 <= 200us", "timerfd", "timerfd.max < 1ms", "worst < 1ms",
        "timerfd.p99 < 2%", "cpu < 2us", "cpu < nan%", "cpu < -1%", "timerfd.p95 < 1ms", ".p99 < 1ms", "drift < 5",
        "timerfd.p50 later 5 than dispatch", "timerfd.p50 later 5% then dispatch", "p50 later 5% than dispatch",
        "timerfd.cpu later 5% than dispatch", "timerfd.p99 later 5% than b.json", "timerfd.p50 later -5% than dispatch",
        "timerfd.p50 later 1e5% than dispatch", "p99 < 99999999999999s",
    ])
    func otherTextsAreRefusedInOneLine(text: String) {
        let problem = #expect(throws: Problem.self) { try Need.parse(text) }
        #expect(problem?.description.contains("\n") == false)
    }
}

/// Needs held against a measurement.
@Suite struct JudgementTests {
    private func judged(
        _ text: String,
        _ report: Report = Synthetic.report,
        earlier: [String: Report] = [:]
    ) throws -> Judgement {
        try Judgement(try Need.parse(text), of: report, earlier: earlier)
    }

    @Test func aBoundIsMetByTheWholeInterval() throws {
        #expect(try judged("timerfd.p50 < 60us").outcome == .meets)
        #expect(try judged("timerfd.p50 < 20us").outcome == .fails)
        #expect(try judged("timerfd.p50 > 20us").outcome == .meets)
        #expect(try judged("timerfd.cpu < 3%").outcome == .meets)
    }

    /// Fault 2: twice, 30 s apart, "Take timerfd" and "Take runloop", both with exit 0, since bare p99s were compared.
    /// Fault 6: rules on a bound had no interval.
    @Test func aBoundInsideTheIntervalIsUndecided() throws {
        // A tail that reaches over many buckets.
        var random = SplitMix64(seed: 1)
        let turns = (0..<60)
            .map { _ in
                Synthetic.turn((0..<20).map { _ in Int64(20_000 / .random(in: 0.001..<1, using: &random)) })
            }
        let report = Report(Synthetic.results([Synthetic.row("timerfd", of: turns)]))
        let p99 = try #require(report.rows[0].p99)
        let interval = try #require(p99.interval)
        try #require(interval.lowerBound < p99.value && p99.value < interval.upperBound)
        // On either side of the figure itself.
        for end in [interval.lowerBound, interval.upperBound] {
            let judgement = try judged("timerfd.p99 < \(Int((p99.value + end) / 2))ns", report)
            #expect(judgement.outcome == .undecided)
            let reason = judgement.findings[0].reason
            #expect(reason.contains("times as long") || reason.contains("too close"))
            #expect(reason.contains("–"), "the range is shown")
        }
    }

    @Test func conditionsWithoutARowAreMetByOneBackend() throws {
        let judgement = try judged("p50 < 1us, cpu < 12%")
        #expect(judgement.outcome == .meets)
        #expect(judgement.findings.map(\.row) == ["hybrid", "timerfd", "dispatch"])
        #expect(judgement.findings.map(\.outcome) == [.meets, .fails, .fails])
        // No backend meets both, though some meet each.
        #expect(try judged("p50 < 1us, cpu < 5%").outcome == .fails)
    }

    @Test func aBackendMustMeetThemUnderEveryLoad() throws {
        let rows = ["idle", "busy"]
            .flatMap { load in
                [
                    Synthetic.row("timerfd", load: load, lateness: load == "busy" ? 900_000 : 40_000),
                    Synthetic.row("hybrid", load: load, lateness: 100),
                ]
            }
        let report = Report(Synthetic.results(rows))
        let judgement = try judged("p50 < 200us", report)
        #expect(judgement.outcome == .meets)
        #expect(judgement.findings.map(\.row) == ["timerfd", "hybrid", "hybrid@busy", "timerfd@busy"])
        #expect(try judged("timerfd.p50 < 200us", report).outcome == .fails)
        #expect(try judged("timerfd@idle.p50 < 200us".replacing("@idle", with: ""), report).outcome == .fails)
    }

    @Test func rowsAreComparedWithARange() throws {
        #expect(try judged("dispatch.p50 later 50% than timerfd").outcome == .meets)
        #expect(try judged("dispatch.p50 later 1% than timerfd").outcome == .fails)
        #expect(try judged("hybrid.p50 later 0% than timerfd").outcome == .meets)
        #expect(try judged("task-sleep.p99 later 100% than timerfd").outcome == .fails)
        let few = Synthetic.results([
            Synthetic.row("timerfd", lateness: 40_000, laps: 7), Synthetic.row("hybrid", lateness: 100, laps: 7),
        ])
        #expect(try judged("hybrid.p50 later 5% than timerfd", Report(few)).outcome == .undecided)
        #expect(try judged("p50 < 1s", Report(few)).outcome == .undecided, "no range, no verdict")
    }

    @Test func aRowIsComparedWithAnEarlierFileByTheBareLoop() throws {
        // The whole machine is slower now by half, and timerfd is not later for that.
        let slower = Synthetic.rows.map { row in
            var row = row
            row.turns = row.turns.map { turn in
                Synthetic.turn(
                    turn.lateness.buckets.flatMap { [Int64](repeating: Int64($0.lowest * 3 / 2), count: Int($0.count)) }
                )
            }
            return row
        }
        let (before, now) = (Synthetic.report, Report(Synthetic.results(slower)))
        let need = "timerfd.p50 later 30% than a.json"
        #expect(try judged(need, now, earlier: ["a.json": before]).outcome == .meets)
        var later = Synthetic.rows
        later[0] = Synthetic.row("timerfd", lateness: 80_000)
        #expect(try judged(need, Report(Synthetic.results(later)), earlier: ["a.json": before]).outcome == .fails)
        var other = Synthetic.results(Synthetic.rows)
        other.host = Host(system: "Linux", kernel: "6", machine: "vax", cpu: nil, processors: 1, build: .release)
        let foreign = try judged(need, Report(other), earlier: ["a.json": before])
        #expect(foreign.outcome == .undecided && foreign.findings[0].reason.contains("another machine"))
        other = Synthetic.results(Synthetic.rows)
        other.options.period = 10_000_000
        #expect(try judged(need, Report(other), earlier: ["a.json": before]).outcome == .undecided, "another question")
        #expect(throws: Problem.self) { try judged(need, now, earlier: [:]) }
    }

    @Test(arguments: [
        "nobody.p50 < 1s", "timerfd.p50 later 5% than nobody", "timerfd.p50 later 5% than timerfd",
        "bare.p50 later 5% than a.json",
    ])
    func aNeedAboutNothingIsRefused(text: String) {
        #expect(throws: Problem.self) { try judged(text, earlier: ["a.json": Synthetic.report]) }
    }

    @Test func aDriftToEitherSideIsADrift() throws {
        for ppm in [-500.0, 500] {
            let row = Synthetic.row("timerfd", of: Synthetic.rows[0].turns, drift: Drift(ppm: ppm, noise: 3))
            let report = Report(Synthetic.results([row]))
            #expect(try judged("timerfd.drift < 50ppm", report).outcome == .fails)
            #expect(try judged("timerfd.drift < 600ppm", report).outcome == .meets)
        }
        #expect(try judged("timerfd.drift < 2ppm").outcome == .undecided)
        #expect(try judged("timerfd.drift < 4ppm").outcome == .meets)
    }

    @Test func aBrokenPromiseMeetsNothing() throws {
        var rows = Synthetic.rows
        rows[0].problem = "1 of 20 ticks came before their deadline"
        #expect(try judged("timerfd.p50 < 1s", Report(Synthetic.results(rows))).outcome == .fails)
    }

    @Test func aRowWithoutALapIsUndecided() throws {
        var rows = Synthetic.rows
        rows[0].turns = []
        #expect(try judged("timerfd.p50 < 1s", Report(Synthetic.results(rows))).outcome == .undecided)
    }
}
