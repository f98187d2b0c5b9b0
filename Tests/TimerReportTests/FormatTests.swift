import Foundation
import FoundationXML
import ResultsSupport
import Testing
import TimerReport
import TimerResults

/// CSV, Markdown, JUnit and the page.
@Suite struct FormatTests {
    @Test func csvHasALineForEachFigure() {
        let lines = CSVTable(Synthetic.report).description.split(separator: "\n").map(String.init)
        #expect(lines[0] == "row,load,figure,value,low,high")
        #expect(lines.allSatisfy { $0.split(separator: ",", omittingEmptySubsequences: false).count == 6 })
        let figures = ["p50_ns", "p99_ns", "missed_percent", "drift_ppm", "cpu_percent", "max_ns"]
        for start in Synthetic.rows.flatMap({ row in figures.map { "\(row.key.row),idle,\($0)," } }) {
            #expect(lines.count { $0.hasPrefix(start) } == 1, "\(start)")
        }
        #expect(!lines.contains { $0.contains("p999") }, "800 deadlines have none")
        let odd = Synthetic.report(of: [Synthetic.row("a,\"b\"", lateness: 10)])
        #expect(CSVTable(odd).description.contains("\n\"a,\"\"b\"\"\",idle,p50_ns,"))
    }

    @Test func markdownIsTheScreen() {
        let text = MarkdownTable(Synthetic.report).description
        let parts = [
            "1 ms timer · 30 s",
            "\n| row | p50 | p99 (range) | missed | drift ppm | CPU | than timerfd |\n| --- | ---: |",
            "\n| hybrid | 0.12 µs | ", "\n- timerfd is enough unless ",
        ]
        #expect(parts.filter { !text.contains($0) } == [])
        let odd = Synthetic.report(of: [Synthetic.row("a|b*", lateness: 10)])
        #expect(MarkdownTable(odd).description.contains("| a\\|b\\* |"))
    }

    @Test func junitHasATestCaseForEachRow() throws {
        let needs = ["timerfd.p50 < 60us", "timerfd.p50 < 1us", "p50 < 1us"]
        let judgements = try needs.map { try Judgement(try Need.parse($0), of: Synthetic.report) }
        let text = JUnitFile(judgements, seconds: 30, errors: ["it <failed> & \"broke\""]).description
        let parts = [
            #"<testsuite name="compare-backends" tests="4" failures="1" errors="1" skipped="0" time="30.000">"#,
            // The cases share the time: some readers show their sum.
            "<testcase name=\"timerfd.p50 &lt; 1us\" classname=\"timerfd\" time=\"7.500\"><failure message=\"p50 39 µs",
            // One backend is enough.
            "classname=\"hybrid\" time=\"7.500\"><system-out>",
            // Jenkins shows the attribute, and GitLab the text.
            "\"it &lt;failed&gt; &amp; &quot;broke&quot;\">it &lt;failed&gt; &amp; &quot;broke&quot;</error>",
        ]
        #expect(parts.filter { !text.contains($0) } == [])
        #expect(XMLParser(data: Data(text.utf8)).parse())
        // An undecided need fails no test case: the exit code is 4.
        let few = Synthetic.report(of: Synthetic.pair(laps: 7))
        let open = JUnitFile([try Judgement(try Need.parse("p50 < 1us"), of: few)], seconds: 3).description
        #expect(open.contains("failures=\"0\" errors=\"0\" skipped=\"2\""))
    }

    @Test func thePageHasItsDataAndNothingElse() throws {
        let report = Synthetic.report
        let page = try Page(report).html
        #expect(page.hasPrefix("<!DOCTYPE html>") && page.hasSuffix("</html>"))
        #expect(!page.contains("{{"), "every name in the template has a value")
        #expect(page.contains("default-src 'none'"), "it loads nothing")
        #expect(page.contains("(?): too few deadlines or laps for a range."))
        #expect(page.contains("share of deadlines (square-root scale, each row on its own)"))
        let words = Words(report)
        for text in words.advice + [words.disturbance, words.confidence] { #expect(page.contains("\"\(text)\"")) }
        let start = try #require(page.range(of: "id=\"data\">"))
        let data = page[start.upperBound...]
            .prefix(upTo: try #require(page[start.upperBound...].range(of: "</script>")).lowerBound)
        #expect(
            try JSONFile.decode(data.utf8).rows.map(\.key) == report.rows.map(\.key),
            "the data are the file itself"
        )
    }
}
