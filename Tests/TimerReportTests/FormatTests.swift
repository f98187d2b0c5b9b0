import ResultsSupport
import Testing
import TimerReport
import TimerResults

/// The exact text of each format, and its promises.
@Suite struct FormatTests {
    @Test func aTableIsGolden() throws {
        try Golden.expect(ResultTable(Synthetic.comparison).description + "\n", in: "table.txt")
    }

    @Test func coloursOfTheTableAreGolden() throws {
        let table = ResultTable(Synthetic.comparison, inColour: true).description
        try Golden.expect(table + "\n", in: "table-colour.txt")
    }

    @Test func aTableOfSeveralLoadsIsGolden() throws {
        let report = Synthetic.comparison(rounds: 3, loads: ["idle", "cpu:2"], asked: 5, delivery: "queue")
        try Golden.expect(ResultTable(report).description + "\n", in: "table-loads.txt")
    }

    @Test func jsonIsGolden() throws {
        let json = try JSONFile.encode(Synthetic.comparison(rounds: 2))
        try Golden.expect(json + "\n", in: "results.json")
    }

    @Test func csvIsGolden() throws {
        try Golden.expect(CSVTable(Synthetic.comparison).description + "\n", in: "results.csv")
    }

    @Test func markdownIsGolden() throws {
        try Golden.expect(MarkdownTable(Synthetic.comparison).description + "\n", in: "results.md")
    }

    @Test func percentilesAreGolden() throws {
        let file = try #require(PercentileFile.all(Synthetic.comparison).first)
        try Golden.expect(file.text, in: "percentiles.hgrm")
    }

    @Test func colourDoesNotChangeTheText() {
        let report = Synthetic.comparison
        let coloured = ResultTable(report, inColour: true).description
        let plain = coloured.replacing(/\u{1B}\[[0-9;]*m/, with: "")
        #expect(coloured.contains("\u{1B}[1;32m"))
        #expect(plain == ResultTable(report).description)
    }

    /// The table of a run without options, with figures of the usual length.
    private func plainRun() -> String {
        let rows: [(String, Int64)] = [
            ("dispatch", 90_000), ("timerfd", 80_000), ("libevent", 81_000), ("runloop", 190_000),
        ]
        let cells = rows.map { row, lateness in
            let ticks = (0..<300)
                .map { (number: Int64) in
                    lateness + number * 7919 % 9000 + (number == 200 ? 2_345_600 : 0)
                }
            return Synthetic.cell(Synthetic.key(row), ticks, period: 10_000_000)
        }
        let floors = ["floor-nanosleep", RowKey.floor]
            .map { floor in
                let ticks = (0..<300).map { (number: Int64) in 70_000 + number * 31 % 5000 }
                return Synthetic.cell(Synthetic.key(floor, .reference), ticks)
            }
        return ResultTable(Report(Synthetic.results([cells + floors]))).description
    }

    @Test func aPlainRunFitsOneHundredAndTwentyColumns() {
        let widths = plainRun().split(separator: "\n").map(\.count)
        #expect(widths.max() ?? 0 <= 120, "\(widths)")
        #expect(widths.contains { $0 > 90 })
    }

    @Test func partialResultsSaySo() {
        let heading = ResultTable(Synthetic.comparison(rounds: 2, asked: 3)).description.split(separator: "\n").first
        #expect(heading?.hasSuffix("(PARTIAL: only 2 of 3 laps were completed)") == true)
    }

    @Test func fewRoundsAreReportedAsTooFew() {
        let few = ResultTable(Synthetic.comparison(rounds: 7)).description
        let enough = ResultTable(Synthetic.comparison(rounds: 8)).description
        #expect(few.contains("too few laps"))
        #expect(!enough.contains("cannot show a difference"))
    }

    @Test func earlyTicksHaveAColumnIfThereAreAny() {
        let early = Report(Synthetic.results([[Synthetic.cell(Synthetic.key("timerfd"), [5, -5, 5])]]))
        let table = ResultTable(early, inColour: true).description
        #expect(table.contains("early"))
        #expect(table.contains("\u{1B}[1;31m1\u{1B}[0m"))
        #expect(table.contains("\u{1B}[1;31mtimerfd\u{1B}[0m"))
        #expect(!ResultTable(Synthetic.comparison).description.contains("early"))
    }

    @Test func resultsWithoutTicksStillMakeATable() {
        let none = Report(Synthetic.results([[Synthetic.cell(Synthetic.key("timerfd"), [])]].map { $0 }))
        #expect(ResultTable(none).description.contains("timerfd"))
        #expect(PercentileFile.all(none).isEmpty)
        #expect(CSVTable(none).description.split(separator: "\n").count == 2)
    }

    @Test func percentileFilesHaveSafeNames() {
        let cases = [("timerfd", "idle"), ("timerfd#2", "cpu:2"), ("../etc/pass wd", "handler:1.5ms")]
        let cells = cases.map { Synthetic.cell(Synthetic.key($0, load: $1), [5, 7]) }
        let names = PercentileFile.all(Report(Synthetic.results([cells]))).map(\.name)
        #expect(
            names == [
                "timerfd.hgrm", "timerfd-corrected.hgrm", "timerfd#2@cpu-2.hgrm", "timerfd#2@cpu-2-corrected.hgrm",
                "..-etc-pass-wd@handler-1.5ms.hgrm", "..-etc-pass-wd@handler-1.5ms-corrected.hgrm",
            ]
        )
    }

    @Test func hostileNamesAreQuoted() {
        let report = Report(Synthetic.results([[Synthetic.cell(Synthetic.key("a|b,\"c\""), [5, 7])]]))
        #expect(CSVTable(report).description.contains("\n\"a|b,\"\"c\"\"\",backend,idle,1000000,2,0,0,"))
        #expect(MarkdownTable(report).description.contains("| a\\|b,\"c\" | 2 |"))
    }

    @Test(
        arguments: [
            (true, [:], true), (false, [:], false), (true, ["NO_COLOR": "1"], false), (true, ["NO_COLOR": ""], true),
            (true, ["TERM": "dumb"], false), (true, ["TERM": "xterm"], true), (false, ["TERM": "xterm"], false),
        ] as [(Bool, [String: String], Bool)]
    )
    func colourIsForTerminalsThatAllowIt(isTerminal: Bool, environment: [String: String], isWanted: Bool) {
        #expect(Ink.isWanted(isTerminal: isTerminal, environment: environment) == isWanted)
    }
}

@Suite struct JUnitTests {
    private let report = Synthetic.comparison(rounds: 8)

    private func file(_ rules: String...) throws -> String {
        JUnitFile(try Judgement(rules.map { try Rule.parse($0) }, of: report, baseline: nil).findings).description
    }

    @Test func aRuleIsATestCase() throws {
        let text = try file(
            "timerfd.lateness.p50 > 1s",
            "timerfd.lateness.p50 > 1ns",
            "libevent.p50 later 1% than timerfd"
        )
        let lines = text.split(separator: "\n").map(String.init)
        #expect(lines[0] == #"<?xml version="1.0" encoding="UTF-8"?>"#)
        #expect(lines[1] == #"<testsuite name="compare-backends" tests="3" failures="1" errors="0" skipped="1">"#)
        #expect(lines[2].contains("<system-out>timerfd.lateness.p50 is "))
        #expect(lines[3].contains(#"<failure message="timerfd.lateness.p50 is "#))
        #expect(lines[4].contains(#"<skipped message="libevent against timerfd: "#))
        #expect(lines[5] == "</testsuite>")
    }

    @Test func aFailedMeasurementIsAnError() {
        let text = JUnitFile([], errors: ["stopped by Ctrl-C: partial results"]).description
        #expect(text.contains(#"tests="1" failures="0" errors="1" skipped="0""#))
        #expect(text.contains(#"<error message="stopped by Ctrl-C: partial results"/>"#))
    }

    @Test func namesAreEscaped() throws {
        let text = try file("timerfd.lateness.p50 > 1s")
        #expect(text.contains(#"name="timerfd.lateness.p50 &gt; 1s" classname="timerfd""#))
    }
}
