import Foundation
import ResultsSupport
import Testing
import TimerReport
import TimerResults

/// A report as a page: its values and words, and its safety against hostile text.
@Suite struct PageTests {
    /// Two rows under two loads; under the second, every fifth of timerfd's deadlines gets no tick.
    private var results: Results {
        let cells = [RowKey.idle, "cpu:2"]
            .flatMap { load in
                [
                    Synthetic.cell(Synthetic.key("timerfd", load: load), (0..<40).map { 1000 * ($0 % 10 + 1) }),
                    Synthetic.cell(
                        Synthetic.key("floor-timerfd", .reference, load: load),
                        Array(repeating: 500, count: 40)
                    ),
                ]
            }
        return Synthetic.results([cells], loads: [RowKey.idle, "cpu:2"])
    }

    /// The JSON that a page embeds.
    private func embedded(_ page: Page) throws -> String {
        let opening = "<script type=\"application/json\" id=\"data\">"
        let start = try #require(page.html.range(of: opening)).upperBound
        let end = try #require(page.html.range(of: "</script>", range: start..<page.html.endIndex)).lowerBound
        return String(page.html[start..<end])
    }

    private func value(_ page: Page) throws -> [String: Any] {
        let data = Data(try embedded(page).utf8)
        return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    @Test func theEmbeddedDataIsGolden() throws {
        let cell = Synthetic.cell(Synthetic.key("timerfd"), [100, 200, 300, 400])
        #expect(try embedded(Page(Report(Synthetic.results([[cell]])))) == Self.golden)
    }

    private static let golden = """
        {"entries":[{"cpu":1,"deadlines":\(curve),"greatest":[400],"load":"idle","max":400,"medians":[300],\
        "missed":0,"name":"timerfd","p50":200,"p90":400,"p99":400,"p999":400,"row":"timerfd","ticks":\(curve),\
        "times":[0]}],"loads":["idle"],"nines":[\(nines)],"rounds":[{"disturbances":[],"end":4000,\
        "start":0}],"rows":[{"hue":0,"kind":"backend","name":"timerfd","variant":0}]}
        """
    private static let curve = "{\"count\":4,\"values\":[100,100,200,200,300,300,300,400]}"
    private static let nines = (0...70).map { $0 % 10 == 0 ? "\($0 / 10)" : "\(Double($0) / 10)" }
        .joined(separator: ",")

    @Test func equalReportsGiveEqualPages() {
        #expect(Page(Report(results)).html == Page(Report(results)).html)
    }

    @Test func everyLoadHasItsPicturesAndTables() {
        let html = Page(Report(results)).html
        for load in ["idle", "cpu:2"] {
            for picture in ["curves", "time", "drift", "price"] {
                #expect(html.contains("data-picture=\"\(picture)\" data-load=\"\(load)\""))
            }
            #expect(html.contains("data-show-load=\"\(load)\""))
        }
        // The figures and more figures, for each load.
        #expect(html.components(separatedBy: "<table class=\"results\">").count == 5)
        #expect(html.contains("<th scope=\"row\">timerfd "))
    }

    @Test func hostileTextDoesNotBreakOut() throws {
        let hostile = "</script><script>alert(1)</script><img src=x onerror=\"alert('2')\">&\u{2028}–é"
        let cell = Synthetic.cell(Synthetic.key(hostile, load: hostile), [100, 200])
        var results = Synthetic.results([[cell]], loads: [hostile])
        let host = Host(system: hostile, kernel: "", machine: "", cpu: hostile, processors: 1, build: .release)
        let remark = Remark(asked: hostile, obtained: hostile, reason: hostile)
        results = Results(
            hosts: [host],
            options: results.options,
            remarks: [remark],
            rounds: [Round(disturbances: [hostile], cells: [cell])]
        )
        let page = Page(Report(results), title: hostile)
        #expect(!page.html.contains("<img"))
        #expect(!page.html.contains("<script>alert"))
        let harmless = Page(Report(Synthetic.results([[Synthetic.cell(Synthetic.key("a"), [100])]])))
        for tag in ["<script", "</script"] {
            let count = page.html.components(separatedBy: tag).count
            #expect(count == harmless.html.components(separatedBy: tag).count)
        }
        let rows = try #require(try value(page)["rows"] as? [[String: Any]])
        #expect(rows.map { $0["name"] as? String } == [hostile])
    }

    @Test func largeResultsMakeASmallPage() throws {
        // Four rounds of 25 000 ticks for each of 28 rows, in turns that make more stretches than are kept. The
        // rows are copies with other names: counting millions of ticks would take a debug build a minute.
        let rounds = try (0..<4)
            .map { round in
                let saved = String(decoding: try JSONEncoder().encode(turns(inRound: round)), as: UTF8.self)
                return try (0..<28)
                    .map { number in
                        let row = saved.replacingOccurrences(of: "NAME", with: "row-\(number / 2)")
                        let load = number % 2 == 0 ? RowKey.idle : "cpu:2"
                        let cell = Data(row.replacingOccurrences(of: "LOAD", with: load).utf8)
                        return try JSONDecoder().decode(Cell.self, from: cell)
                    }
            }
        let page = Page(Report(Synthetic.results(rounds, loads: [RowKey.idle, "cpu:2"])))
        let entries = try #require(try value(page)["entries"] as? [[String: Any]])
        #expect(entries.count == 28)
        #expect(entries.allSatisfy { ($0["ticks"] as? [String: Any])?["count"] as? Int == 100_000 })
        #expect(entries.allSatisfy { (101...400).contains(($0["times"] as? [Int])?.count ?? 0) })
        #expect(page.html.utf8.count < 1_000_000)
    }

    /// A round of seven turns with widely spread latenesses.
    private func turns(inRound round: Int) -> Cell {
        let turns = (0..<7)
            .map { turn in
                let latenesses = (25_000 * turn / 7..<25_000 * (turn + 1) / 7)
                    .map { tick -> Int64 in
                        let peak: Int64 = tick % 997 == 0 ? 3_000_000 : 0
                        return 40_000 + Int64(tick) * 7919 % 100_000 + peak
                    }
                let time = UInt64(round * 7 + turn) * 4_000_000_000
                return Synthetic.cell(Synthetic.key("NAME", .peer, load: "LOAD"), latenesses, at: time)
            }
        return turns.dropFirst().reduce(into: turns[0]) { $0.add($1) }
    }

    @Test func thinningKeepsTheGreatestLateness() throws {
        let turns = (0..<40)
            .map { turn in
                var latenesses = Array(repeating: Int64(100), count: 800)
                if turn == 33 { latenesses[413] = 9_000_000 }
                return Synthetic.cell(Synthetic.key("a"), latenesses, at: UInt64(turn) * 1_000_000_000)
            }
        let entries = try #require(
            try value(Page(Report(Synthetic.results(turns.map { [$0] }))))["entries"] as? [[String: Any]]
        )
        let greatest = try #require(entries[0]["greatest"] as? [Int])
        #expect(greatest.count <= 400)
        #expect(greatest.max() == 9_000_000)
        #expect(greatest.filter { $0 > 100 }.count == 1)
    }

    @Test func mergedRoundsFollowEachOther() throws {
        // Both measurements began at 0.
        let rounds = [
            [Synthetic.cell(Synthetic.key("a"), [1, 2, 3])], [Synthetic.cell(Synthetic.key("a"), [4, 5, 6])],
        ]
        let spans = try #require(try value(Page(Report(Synthetic.results(rounds))))["rounds"] as? [[String: Any]])
        #expect(spans.map { $0["start"] as? Int } == [0, 3000])
        #expect(spans.map { $0["end"] as? Int } == [3000, 6000])
    }

    @Test func peersHaveTheColourOfTheirBackend() throws {
        let cells = [
            Synthetic.cell(Synthetic.key("timerfd"), [1]), Synthetic.cell(Synthetic.key("dispatch"), [1]),
            Synthetic.cell(Synthetic.key("peer-dispatch-source", .peer), [1]),
            Synthetic.cell(Synthetic.key("peer-dispatch-after", .peer), [1]),
            Synthetic.cell(Synthetic.key("floor-timerfd", .reference), [1]),
        ]
        let rows = try #require(try value(Page(Report(Synthetic.results([cells]))))["rows"] as? [[String: Any]])
        #expect(rows.map { $0["hue"] as? Int } == [0, 1, 1, 1, -1])
        #expect(rows.map { $0["variant"] as? Int } == [0, 0, 0, 1, 0])
    }

    @Test func aPairWithoutOneOfItsPercentilesIsShown() {
        // Half of dispatch's ticks are early, so its median is zero, and no multiple of it exists.
        let cells = [
            Synthetic.cell(Synthetic.key("timerfd"), Array(repeating: 100, count: 40)),
            Synthetic.cell(
                Synthetic.key("dispatch"),
                Array(repeating: -5, count: 30) + Array(repeating: 50, count: 10)
            ),
        ]
        let report = Report(Synthetic.results([cells]))
        #expect(report.pairs.map(\.percentile) == [.p99])
        #expect(Page(report).html.contains("<span class=\"kind\">beside</span> dispatch"))
    }

    @Test func partialAndDebugResultsSaySo() {
        let cell = Synthetic.cell(Synthetic.key("a"), [100])
        let html = Page(Report(Synthetic.results([[cell]], asked: 3))).html
        #expect(html.contains("Partial: only 1 of 3 rounds were begun."))
        #expect(!html.contains("debug build"))
    }

    @Test func rowsWithoutTicksAndEarlyTicksMakeAPage() {
        let odd = [
            Synthetic.cell(Synthetic.key("zero"), Array(repeating: 0, count: 100)),
            Synthetic.cell(Synthetic.key("early"), [-500, -400, -300]), Synthetic.cell(Synthetic.key("none"), []),
        ]
        let html = Page(Report(Synthetic.results([odd]))).html
        #expect(html.contains("<td class=\"alarm\">3</td>"))
    }
}
