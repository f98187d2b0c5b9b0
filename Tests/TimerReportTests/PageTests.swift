import Foundation
import ResultsSupport
import Testing
import TimerReport
import TimerResults

/// A report as a page: the order of its rows, its units, and its safety against hostile text.
@Suite struct PageTests {
    private func page(_ cells: [Cell], laps: Int = 8, loads: [String] = [RowKey.idle]) -> String {
        Page(Report(Synthetic.results(Array(repeating: cells, count: laps), loads: loads))).html
    }

    private func cell(_ row: String, _ lateness: Int64, _ kind: RowKey.Kind = .backend) -> Cell {
        Synthetic.cell(Synthetic.key(row, kind), Array(repeating: lateness, count: 40))
    }

    /// The rows of each picture.
    private func pictures(_ html: String) -> [[String]] {
        html.components(separatedBy: "<table class=\"picture").dropFirst()
            .map { part in
                part.components(separatedBy: "</table>")[0].components(separatedBy: "<th scope=\"row\">").dropFirst()
                    .map { $0.components(separatedBy: "</th>")[0] }
            }
    }

    @Test func rowsStandFromEarlyToLate() {
        let html = page([
            cell(RowKey.floor, 10_000, .reference), cell("dispatch", 90_000), cell("timerfd", 50_000),
            Synthetic.cell(Synthetic.key("libevent"), []), cell("floor-nanosleep", 9000, .reference),
        ])
        #expect(pictures(html) == [["timerfd", "dispatch", "libevent", "floor-nanosleep", "floor-timerfd"]])
    }

    @Test func peersAreInASecondPictureUntilTheyAreAskedFor() {
        let html = page([cell("dispatch", 90_000), cell("peer-dispatch-source", 50_000, .peer)])
        #expect(pictures(html) == [["dispatch"], ["dispatch", "peer-dispatch-source"]])
        #expect(html.contains("<div class=\"without-peers\"><table class=\"picture"))
        #expect(html.contains("<div class=\"with-peers\"><table class=\"picture"))
        #expect(html.contains("<input type=\"checkbox\" id=\"peers\"> Also show peers"))
        let pair = "<tr class=\"peer\"><th scope=\"row\">dispatch <span>against</span> "
        #expect(html.contains(pair + "peer-dispatch-source"))
    }

    @Test func peersAreShownIfThereIsNothingElse() {
        let html = page([cell("peer-libevent", 50_000, .peer)])
        #expect(html.contains("<input type=\"checkbox\" id=\"peers\" checked>"))
    }

    @Test func theRowsOfAnotherBuildAreShown() {
        let html = page([cell("timerfd", 50_000), cell("other:timerfd", 60_000, .peer)])
        #expect(html.contains("<input type=\"checkbox\" id=\"peers\" checked>"))
    }

    @Test func withoutPeersThereIsNothingToAskFor() {
        #expect(!page([cell("timerfd", 50_000)]).contains("id=\"peers\""))
    }

    @Test(
        arguments: [
            (0, "0 ns"), (999, "999 ns"), (1000, "1.00 µs"), (9994, "9.99 µs"), (9996, "10.0 µs"), (97_340, "97.3 µs"),
            (99_960, "100 µs"), (999_400, "999 µs"), (999_600, "1.00 ms"), (153_092_100, "153 ms"),
            (2_500_000_000, "2.50 s"), (-1500, "-1.50 µs"),
        ] as [(Int64, String)]
    )
    func timesHaveThreeDigitsInTheRightUnit(nanoseconds: Int64, text: String) {
        #expect(PageText.time(nanoseconds) == text)
    }

    @Test func theTableShowsLongTimesInMilliseconds() {
        let html = page([cell("timerfd", 153_092_100)])
        #expect(html.contains("<td>153 ms</td>"))
        #expect(!html.contains("153092"))
    }

    @Test func equalReportsGiveEqualPages() {
        #expect(Page(Synthetic.comparison(rounds: 3)).html == Page(Synthetic.comparison(rounds: 3)).html)
    }

    @Test func everyLoadHasItsOwnHeadline() {
        let html = Page(Synthetic.comparison(loads: [RowKey.idle, "cpu:2"])).html
        for load in [RowKey.idle, "cpu:2"] {
            #expect(html.contains("<section class=\"load\" data-load=\"\(load)\""))
            #expect(html.contains("<input type=\"radio\" name=\"load\" value=\"\(load)\""))
        }
        #expect(html.contains("<h2>Under cpu:2, timerfd"))
        #expect(!Page(Synthetic.comparison).html.contains("type=\"radio\""))
    }

    @Test func allDetailsAreFolded() {
        let html = Page(Synthetic.comparison).html
        for part in ["curves", "pairs", "price", "laps", "figures", "machine", "reading"] {
            #expect(html.contains("<details data-open=\"\(part)\"><summary>"))
        }
        #expect(!html.contains(" open>"))
    }

    @Test func curvesShowBackendsAndTheFloorAtFirst() {
        let html = page([
            cell("timerfd", 50_000), cell("floor-nanosleep", 40_000, .reference),
            cell(RowKey.floor, 40_000, .reference),
        ])
        #expect(html.contains("data-show=\"timerfd\" checked>"))
        #expect(html.contains("data-show=\"floor-timerfd\" checked>"))
        #expect(html.contains("data-show=\"floor-nanosleep\">"))
    }

    @Test func driftIsShownIfItWasMeasured() {
        let short = Synthetic.cell(Synthetic.key("a"), (0..<8).map { 50_000 + ($0 % 2) * 1000 })
        let steady = Synthetic.cell(Synthetic.key("a"), (0..<80).map { 50_000 + ($0 % 2) * 1000 })
        let drifting = Synthetic.cell(Synthetic.key("b"), (0..<80).map { 50_000 + $0 * 1000 })
        #expect(!page([short]).contains("data-open=\"drift\""))
        #expect(page([steady]).contains("no drift seen") && !page([steady]).contains(">drifts<"))
        #expect(page([steady, drifting]).contains(">drifts<"))
    }

    @Test func missedDeadlinesHaveAColumnAndNoAlarm() {
        let ticks = [Point(time: 0, lateness: 1_500_000), Point(time: 2_000_000, lateness: 0)]
        let cost = Cost(cpu: 0, wakeUps: 0, contextSwitches: 0)
        let html = page([Synthetic.cell(Synthetic.key("a"), ticks, cost: cost)])
        #expect(html.contains("<th scope=\"col\">missed</th><th scope=\"col\">CPU</th>"))
        #expect(html.contains("<td>33 %</td>"))
        #expect(!html.contains(" wrong\""))
        #expect(!page([cell("a", 1000)]).contains("<th scope=\"col\">missed</th><th scope=\"col\">CPU</th>"))
    }

    @Test func aBrokenPromiseIsAnAlarm() {
        let html = page([Synthetic.cell(Synthetic.key("early"), [-500, -400, 300])], laps: 1)
        let warning = "early broke a promise: 2 of 3 ticks came before their deadline."
        #expect(html.contains("<p class=\"warning\">\(warning)</p>"))
        #expect(html.contains(" wrong\" data-row=\"early\""))
    }

    @Test func hostileTextDoesNotBreakOut() {
        let hostile = "</script><script>alert(1)</script><img src=x onerror=\"alert('2')\">&\u{2028}–é"
        let cell = Synthetic.cell(Synthetic.key(hostile, load: hostile), [100, 200])
        let host = Host(system: hostile, kernel: "", machine: "", cpu: hostile, processors: 1, build: .release)
        let origin = Origin(date: hostile, seconds: 1, version: hostile, commit: hostile)
        let results = Results(
            hosts: [host],
            origins: [origin],
            options: Synthetic.results([[cell]], loads: [hostile]).options,
            remarks: [Remark(asked: hostile, obtained: hostile, reason: hostile)],
            rounds: [Round(disturbances: [hostile], laps: 1, cells: [cell])]
        )
        let html = Page(Report(results), title: hostile).html
        #expect(html.contains("&lt;img src=x onerror=&quot;alert(&#39;2&#39;)&quot;&gt;"))
        #expect(!html.contains("<img"))
        #expect(!html.contains("onerror=\""))
        for tag in ["<script", "</script"] { #expect(html.components(separatedBy: tag).count == 2) }
    }

    @Test func partialAndDebugResultsSaySo() {
        let cell = cell("a", 1000)
        let html = Page(Report(Synthetic.results([[cell]], asked: 3))).html
        #expect(html.contains("PARTIAL: only 1 of 3 laps were completed"))
        #expect(!html.contains("DEBUG BUILD"))
    }

    @Test func aPairWithoutOneOfItsPercentilesIsShown() {
        // Half of dispatch's ticks are early, so its median is zero, and no multiple of it exists.
        let late = Synthetic.cell(Synthetic.key("timerfd"), Array(repeating: 100, count: 100))
        let latenesses: [Int64] = Array(repeating: -5, count: 75) + Array(repeating: 50, count: 25)
        let html = page([late, Synthetic.cell(Synthetic.key("dispatch"), latenesses)], laps: 1)
        let missing = "<td data-name=\"p50\" class=\"quiet\">–</td>"
        #expect(html.contains("timerfd <span>against</span> dispatch</th>\(missing)"))
    }

    @Test func manyLapsAndRowsMakeASmallPage() {
        let cells = (0..<14)
            .map { (row: Int64) in
                let ticks = (0..<40).map { (number: Int64) in (row + 1) * (number * 7919 % 1000) }
                return Synthetic.cell(Synthetic.key("row-\(row)", .peer), ticks)
            }
        #expect(page(cells, laps: 500).utf8.count < 250_000)
    }
}
