import Foundation
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
        for row in Synthetic.rows {
            for figure in ["p50_ns", "p99_ns", "missed_percent", "drift_ppm", "cpu_percent", "max_ns"] {
                #expect(lines.count { $0.hasPrefix("\(row.key.row),idle,\(figure),") } == 1, "\(row.key.row) \(figure)")
            }
        }
        #expect(!lines.contains { $0.contains("p999") }, "800 deadlines have none")
        let odd = Report(Synthetic.results([Synthetic.row("a,\"b\"", lateness: 10)]))
        #expect(CSVTable(odd).description.contains("\n\"a,\"\"b\"\"\",idle,p50_ns,"))
    }

    @Test func markdownIsTheScreen() {
        let text = MarkdownTable(Synthetic.report).description
        #expect(text.hasPrefix("1 ms timer · 30 s"))
        #expect(
            text.contains("\n| row | p50 | p99 (range) | missed | drift ppm | CPU | than timerfd |\n| --- | ---: |")
        )
        #expect(text.contains("\n| hybrid | 0.12 µs | ") && text.contains("\n- timerfd is enough unless "))
        let odd = Report(Synthetic.results([Synthetic.row("a|b*", lateness: 10)]))
        #expect(MarkdownTable(odd).description.contains("| a\\|b\\* |"))
    }

    @Test func junitHasATestCaseForEachRow() throws {
        let needs = ["timerfd.p50 < 60us", "timerfd.p50 < 1us", "p50 < 1us"]
        let judgements = try needs.map { try Judgement(try Need.parse($0), of: Synthetic.report) }
        let text = JUnitFile(judgements, errors: ["it <failed> & \"broke\""]).description
        #expect(
            text.contains("<testsuite name=\"compare-backends\" tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"0\">")
        )
        #expect(
            text.contains("<testcase name=\"timerfd.p50 &lt; 1us\" classname=\"timerfd\"><failure message=\"p50 39 µs")
        )
        #expect(text.contains("classname=\"hybrid\"><system-out>"), "one backend is enough")
        #expect(text.contains("<error message=\"it &lt;failed&gt; &amp; &quot;broke&quot;\"/>"))
        #expect(XMLCheck(text).isWellFormed)
        // An undecided need fails no test case: the exit code is 4.
        let few = Report(
            Synthetic.results([
                Synthetic.row("timerfd", lateness: 40_000), Synthetic.row("hybrid", lateness: 1, laps: 7),
            ])
        )
        let open = JUnitFile([try Judgement(try Need.parse("p50 < 1us"), of: few)]).description
        #expect(open.contains("failures=\"0\" errors=\"0\" skipped=\"2\""))
    }

    @Test func thePageHasItsDataAndNothingElse() throws {
        var rows = Synthetic.rows
        rows[0].problem = "</script><b>"
        let page = try Page(Report(Synthetic.results(rows))).html
        #expect(page.hasPrefix("<!DOCTYPE html>") && page.hasSuffix("</html>"))
        #expect(!page.contains("{{"), "every name in the template has a value")
        #expect(page.contains("default-src 'none'"), "it loads nothing")
        #expect(!page.contains("</script><b>") && page.contains("\\u003c/script>"))
        let start = try #require(page.range(of: "id=\"data\">"))
        let data = page[start.upperBound...]
            .prefix(upTo: try #require(page[start.upperBound...].range(of: "</script>")).lowerBound)
        #expect(try JSONFile.decode(data.utf8).rows.map(\.key) == rows.map(\.key), "the data are the file itself")
    }
}

/// Whether every tag of a small XML file is closed in its order.
private struct XMLCheck {
    let isWellFormed: Bool

    init(_ text: String) {
        var open: [Substring] = []
        for tag in text.split(separator: "<").dropFirst() {
            let name = tag.prefix { !" />?".contains($0) }
            if tag.hasPrefix("?") || tag.contains("/>") { continue }
            if !tag.hasPrefix("/") {
                open.append(name)
            } else if open.popLast() != tag.dropFirst().prefix(while: { !" >".contains($0) }) {
                open.append("wrong")
                break
            }
        }
        isWellFormed = open.isEmpty
    }
}
