#if Instrument && DEBUG
import Foundation
import FoundationXML
import Testing

@testable import BackendComparison

/// The page as its file has it.
@Suite struct PageTests {
    /// A kind of results, and their report.
    static let kinds: [(name: String, report: Report)] = {
        let loads = Report(Synthetic.results(Synthetic.pair() + Synthetic.pair(load: "cpu:2")))
        let needs = ["timerfd.p50 < 60us, cpu < 50%", "timerfd.p50 < 1us", "p99.9 < 1us"]
        let judged = Synthetic.report.judged(
            needs.compactMap { need in try? Judgement(try Need.parse(need), of: Synthetic.report) }
        )
        var stopped = Synthetic.results(
            Synthetic.rows(changing: 4) { $0.turns.removeLast() },
            machine: MachineState(others: 97, waiting: 80, stolen: 0, loadAverage: 5.4),
            isStopped: true
        )
        stopped.rows[1].failure = "it ended"
        stopped.remarks = ["--deliver queue: inline for bare"]
        let hidden = Synthetic.rows(changing: 1) { $0 = Synthetic.row("dispatch", lateness: 46_000, cpu: nil) }
        return [
            ("plain", Synthetic.report), ("loads", loads), ("needs", judged), ("stopped", Report(stopped)),
            ("hidden", Report(Synthetic.results(hidden, machine: MachineState()))),
            ("without a grid", Synthetic.report(of: Synthetic.pair() + [Synthetic.runaway()])),
            ("one row", Synthetic.report(of: [Synthetic.rows[0]])),
            ("one lap", Synthetic.report(of: Synthetic.pair(laps: 1))), ("stretches", stretches),
            ("a task", Synthetic.report(of: Synthetic.rows + [Synthetic.row("on-executor", .executor, lateness: 900)])),
        ]
    }()

    /// A steady row with a stall of 5 ms after 7 s, a row that drifts by 60 ms each second, and rows without a series.
    static let stretches: Report = {
        var rows = Synthetic.rows
        rows[0].series = Synthetic.series { (7..<7.01).contains($0) ? 5_000_000 : 40_000 }
        rows[3].series = Synthetic.series { 60_000 + 60_000_000 * $0 }
        return Synthetic.report(of: rows)
    }()

    /// What a browser shows of a page. It is XML, so that a forgotten end of an element is found.
    private func main(_ report: Report) throws -> XMLDocument {
        let page = report.page
        let start = try #require(page.range(of: "<main>")).lowerBound
        let end = try #require(page.range(of: "</main>")).upperBound
        return try XMLDocument(xmlString: String(page[start..<end]))
    }

    /// The texts of some elements, each in one line and with plain spaces.
    private func texts(_ path: String, in node: XMLNode) throws -> [String] {
        try node.nodes(forXPath: path)
            .map { node in
                let text = (node.stringValue ?? "").replacing("\u{A0}", with: " ")
                return text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            }
    }

    /// The lines of some tables, each as its cells without a picture.
    private func lines(_ tables: String, in main: XMLDocument) throws -> [[String]] {
        try main.nodes(forXPath: "\(tables)//tr").map { try texts("*[not(@class='lane')]", in: $0) }
    }

    /// The points of a row's path of some class, in the order of the path: from 0 to 1, to the right and up.
    private func points(_ kind: String, of row: String) throws -> [(x: Double, y: Double)] {
        let table = "//table[@class='picture stretch']/tbody/tr[th='\(row)']"
        let main = try main(Self.stretches)
        let path = try #require(texts("\(table)//path[@class='\(kind)']/@d", in: main).first)
        let box = try #require(texts("\(table)//path[@class='\(kind)']/../@viewBox", in: main).first)
        let size = box.split(separator: " ").compactMap { Double($0) }
        var x = 0.0
        return path.matches(of: /[MLV](?:([0-9.-]+),)?([0-9.-]+)/)
            .map { match in
                x = match.1.flatMap { Double($0) } ?? x
                return (x / size[2], 1 - (Double(match.2) ?? .nan) / size[3])
            }
    }

    /// A line of Markdown as it is read.
    private func plain(_ line: Substring) -> String {
        String(line.trimmingPrefix("- ").replacing("**", with: "").replacing("\\", with: ""))
    }

    @Test(arguments: kinds.indices) func thePageHasTheWordsAndFiguresOfMarkdown(kind: Int) throws {
        let (name, report) = Self.kinds[kind]
        let (main, markdown) = (try main(report), report.markdown.split(separator: "\n"))
        let rows = markdown.filter { $0.hasPrefix("| ") && !$0.hasPrefix("| ---") }
            .map { line in plain(line).dropFirst(2).dropLast(2).components(separatedBy: " | ") }
        // A table has one load, and its caption names it.
        let loads = report.loads
        var figures: [[String]] = []
        for (place, load) in loads.enumerated() {
            let lines = try lines("//main/table[@class='picture'][\(place + 1)]", in: main)
            figures +=
                (place == 0 ? [lines[0]] : [])
                + lines.dropFirst().map { [RowKey($0[0], .peer, load: load).description] + $0.dropFirst() }
        }
        let trimmed = rows.map { cells in cells.map { $0.trimmingCharacters(in: .whitespaces) } }
        #expect(figures == trimmed, "\(name)")
        let text = try texts("//main", in: main)[0]
        let state = Words(report).state.map { "**\($0)**" }
        let sentences = markdown.filter { !$0.hasPrefix("|") && $0 != state ?? "" }.map { plain($0) }
        #expect(!sentences.isEmpty && sentences.filter { !text.contains($0) } == [], "\(name)")
        #expect(try texts("//h1", in: main) == ["How late timers tick here"])
    }

    @Test(arguments: kinds.indices) func thePageSaysHowFarToBelieveItAndHowItWasMeasured(kind: Int) throws {
        let (name, report) = Self.kinds[kind]
        let (main, words) = (try main(report), Words(report))
        let facts = Fact.all(of: report.results)
        let names = ["The machine during the run", "How reliable the figures are"] + facts.map(\.name)
        #expect(try texts("//dt", in: main) == names, "\(name)")
        #expect(try texts("//dd", in: main) == [words.disturbance, words.confidence] + facts.map(\.text))
        #expect(try texts("//*[@class='warning']", in: main).contains(words.disturbance) == (words.state != nil))
        let percentiles = try lines("//table[@class='figures']", in: main)
        let titles = ["row", "deadlines", "p50", "p90", "p99", "p99.9", "worst", "missed"]
        #expect(percentiles[0].prefix(8) == titles[...])
        let expected = report.rows.map { row in
            [row.key.row, "\(row.deadlines)", row.worst.map { NumberText.time($0) } ?? "–"]
        }
        let found = percentiles.filter { $0[0] != "row" }.map { [$0[0], $0[1].replacing(",", with: ""), $0[6]] }
        #expect(found == expected, "\(name)")
    }

    /// What a reader of screens needs, and what a policy may refuse.
    @Test(arguments: kinds.indices) func thePageIsSemanticHTML(kind: Int) throws {
        let (name, report) = Self.kinds[kind]
        let (page, main) = (report.page, try main(report))
        #expect(page.contains("<html lang=\"en\">") && page.contains("<title>How late timers tick here</title>"))
        #expect(page.hasPrefix("<!DOCTYPE html>") && page.hasSuffix("</html>"))
        #expect(page.contains("content=\"default-src 'none'; ") && !page.contains("script"), "\(name)")
        #expect(page == Page(Report(report.results)).html, "equal reports give equal pages")
        let faults = [
            "//table[not(caption)]", "//table[not(thead/tr/th)]", "//th[not(@scope)]", "//tr[not(*[1][self::th])]",
            "//tbody/tr[count(th) != 1]", "//h1[position() > 1]", "//h3", "//*[@style]", "//style",
            "//@*[starts-with(name(), 'on')]", "//dl[not(dt)]", "//ul[not(li)]",
            "//*[not(self::svg)]/svg[not(@aria-hidden or @aria-label)]",
            "//svg[@aria-label and not(@role='img')]",
        ]
        #expect(try faults.filter { try !main.nodes(forXPath: $0).isEmpty } == [], "\(name)")
        let captions = try texts("//table[@class='picture']/caption", in: main)
        let loads = ["How late the rows tick, load idle", "How late the rows tick, load cpu:2"]
        #expect(captions == (name == "loads" ? loads : ["How late the rows tick"]))
    }

    @Test func aRowsSpreadHasItsMarksAtTheirPlaces() throws {
        let main = try main(Synthetic.report)
        func places(_ kind: String) throws -> [Double] {
            try texts("//main/table/tbody/tr[@class]//path[@class='\(kind)']/@d", in: main)
                .compactMap { $0.firstMatch(of: /M([0-9.]+),/).flatMap { Double($0.1) } }
        }
        let (p50, p99, worst) = (try places("p50"), try places("p99"), try places("worst"))
        #expect([p50, p99, worst].allSatisfy { $0.count == Synthetic.rows.count })
        #expect(zip(p50, p99).allSatisfy { $0 < $1 } && zip(p99, worst).allSatisfy { $0 <= $1 })
        // hybrid is the earliest, and task-sleep the latest.
        #expect(p50.min() == p50[2] && p50.max() == p50[3])
        #expect((p50 + p99 + worst).allSatisfy { (10...990).contains($0) }, "no mark is cut off")
        let short = try self.main(Synthetic.report(of: Synthetic.pair(laps: 4)))
        #expect(try short.nodes(forXPath: "//tbody//path[@class='p50']").count == 2)
        #expect(try short.nodes(forXPath: "//tbody//path[@class='p99' or @class='range']").isEmpty, "no p99")
    }

    @Test func aRowWithoutAGridHasAnEmptyLaneAndItsDriftIsDrawn() throws {
        var row = Synthetic.runaway()
        row.series = Synthetic.series { 60_000 + 62_000_000 * $0 }
        let main = try main(Synthetic.report(of: Synthetic.pair() + [row]))
        let lane = "//table[@class='picture']//tr[th='sleep-for']//path/@class"
        #expect(try texts(lane, in: main) == ["grid", "ground"])
        #expect(try texts("//table[@class='picture stretch']//tr/th[@scope='row']", in: main) == ["sleep-for"])
    }

    @Test func aDriftClimbsAndAStallIsASpikeAtItsTime() throws {
        let line = try points("median", of: "task-sleep")
        let (first, last) = (try #require(line.first), try #require(line.last))
        #expect(line.count == LatenessSeries.most && last.y - first.y > 0.5, "\(first) \(last)")
        #expect(zip(line, line.dropFirst()).allSatisfy { $0.x < $1.x })
        let bars = try points("most", of: "timerfd")
        let highest = try #require(bars.max { $0.y < $1.y })
        let others = bars.filter { abs($0.x - 0.7) > 0.01 }.map(\.y)
        #expect(abs(highest.x - 0.7) < 0.01 && highest.y - (others.max() ?? 1) > 0.3)
        let all = try ["timerfd", "task-sleep"].flatMap { try points("median", of: $0) + points("most", of: $0) }
        #expect(all.allSatisfy { (0.02...0.98).contains($0.y) && (0...1).contains($0.x) }, "nothing is cut off")
    }

    @Test func theLanesOfALoadHaveOneAxisAndARowWithoutASeriesHasNone() throws {
        let (picture, main) = ("//table[@class='picture stretch']", try main(Self.stretches))
        #expect(try texts("\(picture)//tbody/tr/th", in: main) == ["timerfd", "task-sleep"])
        let axis = ["100 µs", "1 ms", "10 ms", "100 ms"]
        #expect(try texts("\(picture)/tbody//text", in: main) == axis + axis)
        #expect(try texts("\(picture)//thead//text", in: main) == ["0 s", "2 s", "4 s", "6 s", "8 s", "10 s"])
        #expect(try self.main(Synthetic.report).nodes(forXPath: picture).isEmpty)
    }

    @Test func aRowThatFailedOrBrokeAPromiseSaysSo() throws {
        var rows = Synthetic.rows(changing: 2) { ($0.failure, $0.turns) = ("no tick", []) }
        rows[0].problem = "a tick was early"
        let main = try main(Report(Synthetic.results(rows)))
        let lines = try lines("//table[@class='picture']", in: main)
        #expect(lines.map { $0[0] } == ["row"] + rows.map(\.key.row))
        #expect(lines[3] == ["hybrid", "failed after 0 laps: no tick"])
        let warnings = try texts("//p[@class='warning']", in: main)
        #expect(warnings == ["PARTIAL: hybrid failed after 0 laps: no tick", "timerfd: a tick was early"])
        var failed = MeasuredRow(RowKey("dispatch", .backend, load: "busy"))
        failed.failure = "no busy"
        let none = try self.main(Report(Synthetic.results(rows.prefix(1) + [failed])))
        let last = try self.lines("//table[@class='picture'][2]", in: none)
        #expect(last.last == ["dispatch", "failed after 0 laps: no busy"])
    }

    @Test func theTermsNameTheRowsWithoutTheLibrary() throws {
        func terms(_ name: String) throws -> [String] {
            let kind = try #require(Self.kinds.first { $0.name == name })
            return try texts("//main/p[@class='quiet']", in: try main(kind.report))
        }
        #expect(try terms("plain").last?.hasSuffix(" task-sleep and bare tick without the library.") == true)
        #expect(try terms("a task").last?.hasSuffix(" task-sleep and bare tick without the library.") == true)
        #expect(try terms("without a grid").last?.hasSuffix(" sleep-for ticks without the library.") == true)
    }

    /// Names of rows, machines and files come from outside. U+0D4E makes one character of itself and what follows it.
    @Test(arguments: [
        "</main><script>alert(1)</script>", "a & b &lt; c", "\" onload=\"alert(1)", "'", "</svg>",
        "\u{D4E}</script><b>", "\u{D4E}\" style=\"x", "\"\u{301} style=\"x", "\u{D4E}&amp;", "]]>", "<!--", "\u{FFFF}",
    ])
    func namesFromOutsideAreTextAndNothingElse(name: String) throws {
        var results = Synthetic.results([
            Synthetic.row(name, lateness: 39_000), Synthetic.row("hybrid", load: name, lateness: 100),
            Synthetic.row(name, load: name, lateness: 39_000),
        ])
        results.host = Host(system: name, kernel: name, machine: name, cpu: name, processors: 2, build: .release)
        results.remarks = [name]
        results.rows[0].problem = name
        results.rows[0].series = Synthetic.series { _ in 40_000 }
        results.judgements = [
            Judgement(
                need: name,
                findings: [.init(row: name, load: name, outcome: .fails, reason: name)],
                outcome: .fails
            )
        ]
        let main = try main(Report(results))
        let shown = name == "\u{FFFF}" ? "" : name.split(separator: " ").joined(separator: " ")
        #expect(try texts("//tbody/tr/th", in: main).count { $0 == shown } == 5)
        #expect(try texts("//svg/@aria-label", in: main).count { $0.hasPrefix("\(shown): ") } == 3)
        #expect(try texts("//li", in: main) == ["not met: \(shown)@\(shown), \(shown)"] || shown.isEmpty)
        #expect(try main.nodes(forXPath: "//script | //b | //@style | //@onload").isEmpty)
        #expect(!Page(Report(results)).html.unicodeScalars.contains("<script".unicodeScalars))
    }

    @Test func theFactsAreSentences() {
        var results = Synthetic.results(Synthetic.rows(changing: 3) { $0.early = 2 })
        (results.host.cpuQuota, results.host.usableProcessors) = (0.5, 1)
        (results.options.thread, results.options.why) = ("fifo:80", 500_000)
        results.machine.quota = QuotaStops(limit: 0.5, periods: 66, stops: 51, share: 72.4)
        let text = Fact.all(of: results).map(\.text).joined(separator: " ")
        let known = [
            ", 2 processors, 1 of them usable, a quota of 0.50 processors, governor performance, a guest of",
            " at the same time. Threads: fifo:80. Each tick later than 500 µs was traced to its cause.",
            " took 0.0 %. Throttling: the quota of 0.50 processors stopped this process in 51 of 66 periods.",
            " in 30 s. task-sleep ticked early 2 times.",
        ]
        #expect(known.filter { !text.contains($0) } == [])
        var hidden = Synthetic.results(Array(Synthetic.rows.prefix(1)), machine: MachineState(loadAverage: 0.3))
        (hidden.host.clockRead, hidden.host.clockSource) = (nil, nil)
        let texts = Fact.all(of: hidden).map(\.text)
        #expect(texts[1] == "suspending (of an unknown source).")
        #expect(
            texts[3] == "Unknown: what other programs used (load 0.3), how long programs waited for a processor and "
                + "what other guests of the host took."
        )
    }
}

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
