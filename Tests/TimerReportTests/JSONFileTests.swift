import Foundation
import ResultsSupport
import Testing
import TimerReport
import TimerResults

/// Files that are damaged, or that another program wrote.
@Suite struct JSONFileTests {
    private static let report = Synthetic.comparison(rounds: 2)
    private static let text = Result { try JSONFile.encode(report) }

    private var results: Results { Self.report.results }

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
        #expect(try JSONFile.decode(try text().utf8) == results)
    }

    @Test(arguments: ["null", "[]", "{}", "{\"schema\": \"3\"}"])
    func otherJSONIsRefused(text: String) {
        #expect(problem(text) == "is not JSON of compare-backends")
    }

    @Test func textThatStopsBeingJSONIsRefusedWithThePlace() throws {
        let places = [
            ("", "it ends too early, after 0 bytes"), ("{", "it ends too early, after 1 bytes"),
            ("schema", "line 1, column 1 cannot be read"), ("{\n  \"schema\": x}", "line 2, column 12 cannot be read"),
            ("{\"schema\": 1e400}\n\n", "Number 1e400 is not representable in Swift."),
            ("[\n\"\\u12zz\"\n]", "line 2, column 3 cannot be read"),
        ]
        for (text, place) in places { #expect(problem(text) == "is damaged: \(place)") }
        let half = try text().prefix(5_000)
        #expect(problem(String(half)) == "is damaged: it ends too early, after \(half.utf8.count) bytes")
    }

    @Test func endlessNestingIsRefused() {
        let problem = problem(String(repeating: "[", count: 1_000_000))
        #expect(problem == "is damaged: line 1, column 513 cannot be read")
    }

    @Test(arguments: [1, 2, -1, Int.max])
    func anotherSchemaIsRefused(schema: Int) throws {
        let other = try text().replacing("\"schema\" : 3", with: "\"schema\" : \(schema)")
        #expect(
            problem(other) == "has schema \(schema), and this compare-backends reads schema 3: measure again"
        )
    }

    @Test func aFileThatIsCutShortIsRefused() throws {
        let text = try text()
        for share in 1..<10 { expectOneClearLine(problem(String(text.prefix(text.count * share / 10)))) }
    }

    /// A file with one text replaced, which it must contain.
    private func damaged(_ original: String, _ replacement: String) throws -> String {
        let text = try text()
        try #require(text.contains(original))
        return text.replacing(original, with: replacement)
    }

    @Test(arguments: [
        ("\"early\" : 0", "\"early\" : -1"), ("\"early\" : 0", "\"early\" : 1000"),
        ("\"missed\" : 4", "\"missed\" : 5"), ("\"missed\" : 4", "\"missed\" : -4"),
        ("\"missed\" : 0", "\"missed\" : 18446744073709551615"), ("\"missed\" : 0", "\"missed\" : 1e400"),
        ("\"cpu_ns\" : 480000", "\"cpu_ns\" : 9223372036854775807"),
        ("\"cpu_ns\" : 480000", "\"cpu_ns\" : -9223372036854775808"),
        ("\"wakeups\" : 40", "\"wakeups\" : 10000000000000000000"), ("\"count\" : 40", "\"count\" : 41"),
        ("\"count\" : 40", "\"count\" : -40"), ("\"count\" : 40", "\"count\" : 9223372036854775807"),
        ("\"host\" : 0", "\"host\" : 1"), ("\"host\" : 0", "\"host\" : -1"),
        ("\"period_ns\" : 1000000", "\"period_ns\" : 0"), ("\"period_ns\" : 1000000", "\"period_ns\" : -1"),
        ("\"period_ns\" : 1000000", "\"period_ns\" : 1e400"), ("\"timers\" : 1", "\"timers\" : 0"),
        ("\"laps\" : 2", "\"laps\" : 0"), ("\"buckets\" : \"", "\"buckets\" : \"x "),
        ("\"kind\" : \"peer\"", "\"kind\" : \"friend\""), ("\"row\" : \"libevent\"", "\"row\" : \"timerfd\""),
        ("\"row\" : \"libevent\"", "\"row\" : \"\\u001b[2Jlibevent\""), ("\"os\" : \"Linux\"", "\"os\" : \"Li\\nnux\""),
        ("\"reason\"", "\"season\""), ("\"drifts\"", "\"drafts\""), ("\"hosts\"", "\"guests\""),
        ("\"noise_ppm\" : ", "\"noise_ppm\" : 1e999, \"was\" : "), ("\"elapsed_ns\" : ", "\"elapsed_ns\" : -"),
        ("\"laps\" : 2", "\"laps\" : 9223372036854775807"), ("\"laps\" : 2", "\"laps\" : 100001"),
        ("\"noise_ppm\" : ", "\"noise_ppm\" : -1, \"was\" : "), ("\"ppm\" : ", "\"ppm\" : 1e306, \"was\" : "),
        ("\"end_offset_ns\" : ", "\"end_offset_ns\" : 1e306, \"was\" : "),
        ("\"clock_source\" : \"tsc\"", "\"clock_source\" : \"\\u001b[2J\""),
    ])
    func damagedValuesAreRefusedInOneLine(original: String, replacement: String) throws {
        expectOneClearLine(problem(try damaged(original, replacement)))
    }

    @Test func resultsWithoutRoundsAreRefused() throws {
        let none = Results(hosts: results.hosts, options: results.options, rounds: [])
        let text = try JSONFile.encode(Report(none))
        #expect(problem(text) == "has no rounds")
    }

    @Test func aMissingKeyIsNamed() throws {
        #expect(
            problem(try damaged("\"drifts\"", "\"drafts\""))?.contains("drifts is missing in rounds.0.cells.0") == true
        )
    }

    @Test func greatButPossibleNumbersAreRead() throws {
        let text = try damaged("\"cpu_ns\" : 480000", "\"cpu_ns\" : 4503599627370495")
        let results = try JSONFile.decode(text.utf8)
        let table = ResultTable(Report(results)).description
        #expect(table.contains("timerfd"))
    }

    @Test func anUnknownKeyIsIgnored() throws {
        #expect(problem(try damaged("\"remarks\" :", "\"later\" : 1, \"remarks\" :")) == nil)
    }
}
