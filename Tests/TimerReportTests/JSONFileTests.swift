import Foundation
import ResultsSupport
import Testing
import TimerReport
import TimerResults

/// Files that are damaged, or that another program wrote.
@Suite struct JSONFileTests {
    private static let text = Result { try JSONFile.encode(Synthetic.report) }

    private func text() throws -> String { try Self.text.get() }

    /// The problem of a file; nil if it is read.
    private func problem(_ text: String) -> String? {
        do throws(Problem) {
            _ = Report(try JSONFile.decode(text.utf8))
            return nil
        } catch {
            return error.description
        }
    }

    private func expectOneClearLine(_ problem: String?, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(problem?.isEmpty == false, sourceLocation: sourceLocation)
        #expect(problem?.contains(where: \.isNewline) == false, sourceLocation: sourceLocation)
        #expect((problem?.count ?? 0) < 300, sourceLocation: sourceLocation)
    }

    @Test func writtenResultsAreReadAgain() throws {
        #expect(try JSONFile.decode(try text().utf8) == Synthetic.report.results)
        var rows = Synthetic.rows
        rows[0].problem = "early"
        rows[1].failure = "no tick"
        rows[2].late = LateTicks(threshold: 5)
        rows[2].spin = SpinCuts(cuts: 3, obstacle: "one processor")
        rows[3].drift = nil
        rows[4].hop = Histogram([1, 2, 3])
        let results = Synthetic.results(
            rows,
            laps: (0..<40).map { Lap(waiting: Double($0), stolen: nil) },
            isStopped: true
        )
        #expect(try JSONFile.decode(JSONFile.encode(Report(results)).utf8) == results)
    }

    /// Fault 14: 928 KB for 30 s.
    @Test func aDefaultRunTakesLessThan150Kilobytes() throws {
        let rows =
            Synthetic.rows
            + ["libevent", "runloop"].map { Synthetic.row($0, lateness: 45_000, tail: 3_000_000, share: 0.05) }
        let long = rows.map { row in
            Synthetic.row(row.key.row, row.key.kind, lateness: 45_000, laps: 118, tail: 3_000_000, share: 0.05)
        }
        let size = try JSONFile.encode(Report(Synthetic.results(long))).utf8.count
        #expect(size < 150_000, "\(size)")
    }

    @Test(arguments: ["null", "[]", "{}", "{\"schema\": \"4\"}", "", "{", "schema", "{\"schema\": 1e400}"])
    func otherTextIsRefused(text: String) {
        #expect(problem(text)?.hasPrefix("is not JSON of compare-backends") == true)
    }

    @Test func endlessNestingIsRefused() { expectOneClearLine(problem(String(repeating: "[", count: 1_000_000))) }

    @Test(arguments: [1, 3, -1, Int.max])
    func anotherSchemaIsNamed(schema: Int) throws {
        let other = try text().replacing("\"schema\":4", with: "\"schema\":\(schema)")
        #expect(problem(other) == "has schema \(schema), and this compare-backends reads schema 4: measure again")
    }

    @Test func aFileThatIsCutShortIsRefused() throws {
        let text = try text()
        for share in 1..<10 { expectOneClearLine(problem(String(text.prefix(text.count * share / 10)))) }
    }

    /// A file with one text replaced, which it must contain.
    private func damaged(_ original: String, _ replacement: String) throws -> String {
        let text = try text()
        try #require(text.contains(original), "\(original)")
        return text.replacing(original, with: replacement)
    }

    @Test(arguments: [
        ("\"early\":0", "\"early\":-1"), ("\"early\":0", "\"early\":1000"), ("\"missed\":[0", "\"missed\":[21"),
        ("\"missed\":[0", "\"missed\":[-1"), ("\"missed\":[0", "\"missed\":[9223372036854775807"),
        ("\"missed\":[0", "\"missed\":[1e400"), ("\"missed\":[0,", "\"missed\":["), ("\"missed\"", "\"mist\""),
        ("\"cpu_ns\":[400000", "\"cpu_ns\":[-9223372036854775808"),
        ("\"wakeups\":[20", "\"wakeups\":[10000000000000000000"),
        ("\"elapsed_ns\":[20000000", "\"elapsed_ns\":[0"), ("\"run_delay_ns\":[0", "\"run_delay_ns\":[-5"),
        ("\"lateness\":[\"", "\"lateness\":[\"x "), ("\"lateness\":[\"", "\"lateness\":[\"\",\""),
        ("\"period_ns\":1000000", "\"period_ns\":0"), ("\"period_ns\":1000000", "\"period_ns\":-1"),
        ("\"timers\":1", "\"timers\":0"), ("\"kind\":\"peer\"", "\"kind\":\"friend\""),
        ("\"row\":\"dispatch\"", "\"row\":\"timerfd\""), ("\"row\":\"dispatch\"", "\"row\":\"\\u001b[2J\""),
        ("\"os\":\"Linux\"", "\"os\":\"Li\\nnux\""), ("\"remarks\":[", "\"remarks\":[\"a\\nb\""),
        ("\"noise_ppm\":3", "\"noise_ppm\":-3"), ("\"ppm\":0.4", "\"ppm\":1e306"), ("\"host\"", "\"guest\""),
        ("\"seconds\":30", "\"seconds\":1e300"), ("\"others_percent\":1", "\"others_percent\":-1"),
        ("\"waiting_percent\":[0,", "\"waiting_percent\":["),
        ("\"clock_source\":\"tsc\"", "\"clock_source\":\"\\u001b[2J\""),
    ])
    func damagedValuesAreRefusedInOneLine(original: String, replacement: String) throws {
        expectOneClearLine(problem(try damaged(original, replacement)))
    }

    @Test func resultsWithoutTurnsAreRefused() throws {
        let text = try JSONFile.encode(Report(Synthetic.results([])))
        #expect(problem(text) == "has no turns")
    }

    @Test func aMissingKeyIsNamed() throws {
        #expect(problem(try damaged("\"ticks\":{", "\"tocks\":{"))?.contains("ticks is missing in rows.0") == true)
    }

    @Test func anUnknownKeyIsIgnored() throws {
        #expect(problem(try damaged("\"remarks\":", "\"later\":1,\"remarks\":")) == nil)
    }
}
