#if Instrument && DEBUG
import Foundation
import Testing

@testable import BackendComparison

/// Files that are damaged, or that another program wrote.
@Suite struct JSONFileTests {
    private static let text = Result {
        let series = LatenessSeries([Point(time: 0, lateness: 50), Point(time: 9, lateness: 70)])
        return try JSONFile.encode(Synthetic.report(of: Synthetic.rows(changing: 0) { $0.series = series }))
    }

    /// A file with one value replaced, which it must contain.
    private func damaged(_ key: String, _ value: String, _ other: String) throws -> String {
        let (text, original) = (try Self.text.get(), "\"\(key)\":\(value)")
        try #require(text.contains(original), "\(original)")
        return text.replacing(original, with: "\"\(key)\":\(other)")
    }

    /// The problem of a file; nil if it is read.
    private func problem(_ text: String) -> String? {
        do throws(Failure) {
            _ = Report(try JSONFile.decode(text.utf8))
            return nil
        } catch {
            return error.description
        }
    }

    private func expectOneClearLine(_ problem: String?, _ comment: Comment) {
        let length = problem?.count ?? 0
        #expect(length > 0 && length < 300 && problem?.contains(where: \.isNewline) == false, comment)
    }

    /// An account that the kernel does not show is a missing figure, and not zero.
    @Test func aMissingAccountIsAMissingFigure() {
        let unknown = Synthetic.row("dispatch", lateness: 46_000, cpu: nil)
        let report = Synthetic.report(of: [Synthetic.rows[0], unknown])
        #expect(report.rows[1].runDelay == nil && report.rows[1].cpu == nil && report.rows[1].wakeUps == nil)
        // Of a row that has it in some turns, it is that of these turns.
        var mixed = Synthetic.rows[0]
        for lap in stride(from: 0, to: 40, by: 2) { mixed.turns[lap] = unknown.turns[lap] }
        let some = Report(Synthetic.results([mixed])).rows[0]
        #expect(some.cpu?.value == report.rows[0].cpu?.value && some.wakeUps?.value == report.rows[0].wakeUps?.value)
    }

    @Test(arguments: ["null", "[]", "{}", "{\"schema\": \"5\"}", "", "{", "schema", "{\"schema\": 1e400}"])
    func otherTextIsRefused(text: String) {
        #expect(problem(text)?.hasPrefix("is not JSON from compare-backends") == true)
    }

    @Test(arguments: [1, 4, -1, Int.max])
    func anotherSchemaIsNamed(schema: Int) throws {
        let other = try damaged("schema", "5", "\(schema)")
        #expect(problem(other) == "has schema \(schema), and this compare-backends reads schema 5: measure again")
    }

    @Test func endlessNestingAndAFileThatIsCutShortAreRefused() throws {
        expectOneClearLine(problem(String(repeating: "[", count: 1_000_000)), "nested")
        let text = try Self.text.get()
        for share in 1..<10 { expectOneClearLine(problem(String(text.prefix(text.count * share / 10))), "\(share)") }
    }

    /// A key, what follows it, and what stands there instead.
    @Test(arguments: [
        ("early", "0", "-1"), ("early", "0", "1000"), ("missed", "[0", "[21"), ("missed", "[0", "[-1"),
        ("missed", "[0", "[9223372036854775807"), ("missed", "[0", "[1e400"), ("missed", "[0,", "["),
        ("cpu_ns", "[400000", "[-9223372036854775808"), ("wakeups", "[20", "[10000000000000000000"),
        ("elapsed_ns", "[20000000", "[0"), ("elapsed_ns", "[20000000", "[null"), ("run_delay_ns", "[0", "[-5"),
        ("lateness", "[\"", "[\"x "),
        ("lateness", "[\"", "[\"\",\""), ("period_ns", "1000000", "0"), ("period_ns", "1000000", "-1"),
        ("timers", "1", "0"), ("kind", "\"peer", "\"friend"), ("row", "\"dispatch\"", "\"timerfd\""),
        ("row", "\"dispatch\"", "\"\\u001b[2J\""), ("os", "\"Linux\"", "\"Li\\nnux\""), ("remarks", "[", "[\"a\\nb\""),
        ("noise_ppm", "3", "-3"), ("ppm", "0.4", "1e306"), ("seconds", "30", "1e300"), ("others_percent", "1", "-1"),
        ("waiting_percent", "[0,", "["), ("clock_source", "\"tsc\"", "\"\\u001b[2J\""), ("host", "{", "0,\"guest\":{"),
        ("step_ns", "5", "0"), ("step_ns", "5", "-1"), ("step_ns", "5", "9007199254740992"),
        ("max_ns", "[50,70]", "[50]"), ("max_ns", "[50,70]", "[50,69]"), ("max_ns", "[50,70]", "[50,null]"),
        ("max_ns", "[50,70]", "[50,9007199254740992]"), ("median_ns", "[50,70]", "[50,-9007199254740992]"),
    ])
    func damagedValuesAreRefusedInOneLine(key: String, value: String, other: String) throws {
        expectOneClearLine(problem(try damaged(key, value, other)), "\(key)")
    }

    @Test func aMissingKeyIsNamedAndAnUnknownOneIgnored() throws {
        let text = try Self.text.get()
        #expect(
            problem(text.replacing("\"ticks\":{", with: "\"tocks\":{"))?.contains("ticks is missing in rows.0") == true
        )
        #expect(problem(text.replacing("\"remarks\":", with: "\"later\":1,\"remarks\":")) == nil)
        // An earlier version wrote neither.
        for key in ["confidence", "disturbance"] { #expect(problem(try damaged(key, "\"", "null,\"x\":\"")) == nil) }
        #expect(problem(try JSONFile.encode(Synthetic.report(of: []))) == "has no turns")
    }

    /// A terminal obeys nothing that stands in a need.
    @Test(arguments: [
        ("timerfd.p50 < 1s", "\\u001b[2J"), ("\"reason\":\"", "\"reason\":\"\\n"),
        ("\"outcome\":\"meets\"", "\"outcome\":\"maybe\""), ("\"needs\":[{", "\"needs\":[{},{"),
    ])
    func damagedNeedsAreRefused(part: String, other: String) throws {
        let need = try Judgement(try Need.parse("timerfd.p50 < 1s"), of: Synthetic.report)
        let text = try JSONFile.encode(Synthetic.report.judged([need]))
        try #require(problem(text) == nil && text.contains(part))
        expectOneClearLine(problem(text.replacing(part, with: other)), "\(other)")
    }

    /// A run in which every part is there that may be absent.
    private static let whole = Result {
        var rows = Synthetic.rows(changing: 0) { $0.problem = "early" }
        (rows[1].failure, rows[1].turns) = ("no tick", [])
        rows[2].late = LateTicks.Cause.allCases.reduce(into: LateTicks(threshold: 500_000)) { $0.add($1) }
        rows[2].spin = SpinCuts(cuts: 3, obstacle: "one processor")
        // The step between has no tick.
        rows[3].series = LatenessSeries([(0, -5), (9, 7), (8, 6)].map { Point(time: $0, lateness: $1) })
        rows[3].drift = nil
        rows[4].turns = Synthetic.row("bare", lateness: 39_000, cpu: nil).turns
        rows[4].hop = SparseHistogram([1, 2, 3])
        let laps = (0..<40).map { Lap(waiting: Double($0), stolen: nil) }
        let machine = MachineState(others: 99, waiting: 1)
        var results = Synthetic.results(rows, machine: machine, laps: laps, isStopped: true)
        results.machine.quota = QuotaStops(limit: 0.05, periods: 66, stops: 51, share: 72.4)
        (results.options.why, results.options.thread, results.host) = (500_000, "fifo:80", .current)
        let report = Report(results)
        return report.judged(
            try ["timerfd.p50 < 1s", "p50 < 1ns"].map { try Judgement(try Need.parse($0), of: report) }
        )
    }

    @Test func writtenResultsAreReadAgain() throws {
        for report in [Synthetic.report, try Self.whole.get(), Synthetic.report(of: [Synthetic.runaway()])] {
            #expect(try JSONFile.decode(JSONFile.encode(report).utf8) == report.results)
        }
    }

    @Test func everyKeyIsInTheTableOfThePage() throws {
        let file = URL(filePath: #filePath).appending(path: "../../../Documentation/results.md").standardized
        let page = try String(contentsOf: file, encoding: .utf8)
        let keys = Set(try JSONFile.encode(Self.whole.get()).matches(of: /"([^"]+)":/).map(\.1))
        #expect(keys.count > 80)
        let unknown = keys.filter { key in !["`\(key)`", "`\(key)[]`"].contains { page.contains($0) } }
        // The page names them together.
        #expect(unknown == ["wakeups_per_tick", "switches_per_tick"])
    }
}
#endif
