import Foundation
import ResultsSupport
import Testing
import TimerReport
import TimerResults

/// What was asked of the system, and what came of it, in every format.
struct SystemOptionsTests {
    /// Results with an option that one row obtained and another did not, and with a spin that was cut.
    private static let report: Report = {
        let cells = [
            Synthetic.cell(Synthetic.key("timerfd"), [5, 7, 9, 5]),
            Synthetic.cell(Synthetic.key("hybrid"), [5, 7, 9, 5], spin: SpinCuts(cuts: 3, obstacle: "it is small")),
        ]
        let plain = Synthetic.results([cells])
        var options = plain.options
        options.system = ["--realtime fifo:80"]
        let refused = Grant.Refusal(rows: ["timerfd"], reason: "the system refused it (errno 1: no)", advice: "Ask.")
        let grant = Grant(asked: "--realtime fifo:80", obtained: ["hybrid"], refused: [refused])
        return Report(Results(hosts: plain.hosts, options: options, grants: [grant], rounds: plain.rounds))
    }()

    private static let facts = [
        "Obtained for hybrid: --realtime fifo:80",
        "hybrid: the CPU budget shortened the spin before 75 % of the deadlines (--cpu-budget)",
        "Note: --realtime fifo:80: nothing for timerfd, since the system refused it (errno 1: no). Ask",
        "Note: hybrid: no spinning, since it is small",
    ]

    @Test func tablesHaveALineForEachFact() {
        let lines = ShortTable(Self.report, width: 200).description.split(separator: "\n").map(String.init)
        for fact in Self.facts { #expect(lines.contains("\(fact).")) }
        let texts = [ResultTable(Self.report).description, MarkdownTable(Self.report).description]
        for text in texts {
            #expect(text.contains("cut%"))
            for fact in Self.facts { #expect(text.contains(fact)) }
        }
    }

    @Test func thePageHasTheRequestAndWhatCameOfIt() {
        let html = Page(Self.report).html
        #expect(html.contains("<th scope=\"row\">of the system</th><td>--realtime fifo:80</td>"))
        #expect(html.contains("<p>Obtained for hybrid: --realtime fifo:80.</p>"))
        #expect(html.contains("nothing for timerfd"))
        #expect(html.contains("<td>no spinning</td><td>it is small</td>"))
        #expect(html.contains("spin cut %"))
    }

    @Test func aCutIsAFigureOfTheRowThatSpins() {
        let lines = CSVTable(Self.report).description.split(separator: "\n")
            .map { $0.split(separator: ",", omittingEmptySubsequences: false) }
        let column = lines[0].firstIndex(of: "cut_percent")
        #expect(column.map { column in lines.map { $0[column] } } == ["cut_percent", "", "75"])
    }

    @Test func writtenResultsAreReadAgainAndFitTheSchema() throws {
        let json = try JSONFile.encode(Self.report)
        #expect(try JSONFile.decode(json.utf8) == Self.report.results)
        let file = URL(filePath: #filePath).appending(path: "../../../Documentation/results.schema.json").standardized
        let schema = JSONSchema(root: try JSONValue.parse(String(decoding: Data(contentsOf: file), as: UTF8.self)))
        let problems = schema.problems(of: try JSONValue.parse(json))
        #expect(problems == [], "\(problems)")
    }

    @Test func aFileWithoutTheseKeysAskedForNothing() throws {
        let text = try Golden.read("results.json")
        for key in ["grants", "system_options", "\"spin\"", "cut_percent"] { #expect(!text.contains(key)) }
        let old = try JSONFile.decode(text.utf8)
        #expect(old.grants.isEmpty && old.options.system == nil)
        #expect(old.rounds.flatMap(\.cells).allSatisfy { $0.spin == nil })
    }

    @Test(arguments: [
        ("\"cuts\" : 3", "\"cuts\" : 9000000000000000000"), ("it is small", "\\u001b[2J"), ("Ask.", "a\\nb"),
        ("--realtime fifo:80", "\\u001b[2J"), ("\"refused\"", "\"reused\""),
    ])
    func damagedFactsAreRefused(original: String, replacement: String) throws {
        let text = try JSONFile.encode(Self.report)
        try #require(text.contains(original))
        #expect(throws: Problem.self) { try JSONFile.decode(text.replacing(original, with: replacement).utf8) }
    }
}
