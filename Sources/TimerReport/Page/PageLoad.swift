internal import TimerResults

/// The section of one load: its headline, its advice, its picture, and the details.
struct PageLoad {
    /// The report of this load only.
    let report: Report
    let load: String
    /// The report of all loads.
    let all: Report
    let looks: [String: PageLook]

    var html: String {
        let headline = Headline(report)
        let rows = report.sortedRows
        let label = "Lateness and price of every row, \(load)"
        let picture = withAndWithoutPeers(rows) { rows in
            PagePicture(rows: rows, choices: headline.choices, looks: looks, label: label).html
        }
        return """
            <section class="load" data-load="\(PageText.escaped(load))" aria-label="\(PageText.escaped(load))">
            <h2>\(PageText.sentence(headline.sentence))</h2>
            <p class="advice">\(PageText.sentence(headline.advice + overAllLoads))</p>
            <figure>
            \(picture)
            <figcaption>\(key(headline.choices))\(PageText.escaped(disturbed))</figcaption>
            </figure>
            \(details(rows).map(\.html).filter { !$0.isEmpty }.joined(separator: "\n"))
            </section>
            """
    }

    /// The same picture without peers and with them, of which one is in sight. Hidden peers must not stretch an axis.
    private func withAndWithoutPeers(_ rows: [RowReport], _ html: ([RowReport]) -> String) -> String {
        let others = rows.filter { $0.key.kind != .peer }
        guard others.count < rows.count else { return html(rows) }
        return "<div class=\"without-peers\">\(html(others))</div>\n<div class=\"with-peers\">\(html(rows))</div>"
    }

    /// One backend must do under every load.
    private var overAllLoads: String {
        guard all.loads.count > 1, all.rows.contains(where: { $0.key.kind == .backend }) else { return "" }
        let whole = Recommendation(.init(), from: all).headline
        let isSame = whole == Recommendation(.init(), from: report).headline
        let loads = "all \(all.loads.count) loads"
        return isSame ? " The same holds over \(loads)." : " Over \(loads): \(whole)"
    }

    private func key(_ choices: Set<String>) -> String {
        let floor = report.rows.contains { $0.key.kind == .reference }
        let hasPeers = report.rows.contains { $0.key.kind == .peer }
        return "The dot is the median lateness (p50), the line ends at p99. CPU is the share of one core."
            + (choices.isEmpty ? "" : " Tinted rows are recommended.")
            + (floor ? " Grey rows are bare loops, without the library." : "")
            + (hasPeers ? " <span class=\"with-peers\">Peers have hollow dots.</span>" : "")
    }

    private var disturbed: String {
        let rounds = report.results.rounds
        let count = rounds.count { !$0.disturbances.isEmpty }
        return count == 0 ? "" : " \(count) of \(rounds.count) rounds disturbed; they count all the same."
    }

    private func details(_ rows: [RowReport]) -> [PageDetails] {
        let ticking = rows.filter { $0.ticks > 0 }
        let laps =
            PageLaps.fewestLaps > report.results.laps
            ? "" : withAndWithoutPeers(ticking) { PageLaps(report: report, rows: $0, looks: looks).html }
        let tables = PageTables(report: report, rows: rows, looks: looks, load: load)
        return [
            PageDetails(
                name: "curves",
                title: "Curves",
                about: "how late, for what share of the deadlines",
                content: withAndWithoutPeers(ticking) { PageCurves(rows: $0, looks: looks).html }
            ),
            PageDetails(
                name: "pairs",
                title: "Pairs",
                about: "which row is later than which, and how sure that is",
                content: tables.pairs
            ),
            PageDetails(
                name: "price",
                title: "Price",
                about: "processor time, wake-ups and context switches",
                content: tables.prices
            ),
            PageDetails(
                name: "laps",
                title: "Over time",
                about: "the median lateness, lap by lap",
                content: laps
            ),
            PageDetails(
                name: "late",
                title: "Late ticks",
                about: "why they were late",
                content: tables.lateTicks
            ),
            PageDetails(
                name: "drift",
                title: "Drift",
                about: "whether lateness grows during a turn",
                content: tables.drifts
            ),
            PageDetails(
                name: "figures",
                title: "All figures",
                about: "every figure of every row",
                content: tables.figures
            ),
        ]
    }
}

/// The picture of one load that answers first: a line for each row, from p50 to p99, with its figures and its price.
///
/// It is a table whose first column of cells is drawn, so it can be read aloud, searched and printed.
struct PagePicture {
    let rows: [RowReport]
    /// The names of the rows to stress.
    let choices: Set<String>
    let looks: [String: PageLook]
    let label: String

    var html: String {
        let ticking = rows.filter { $0.ticks > 0 }
        let scale = PageScale(ticking.map { $0.corrected.percentile(50) } + ticking.compactMap(\.p99))
        let highest = rows.compactMap(\.cpuPercent).max() ?? 0
        let hasMissed = rows.contains { ($0.missedShare ?? 0) >= 0.0005 }
        let titles = ["p50", "p99"] + (hasMissed ? ["missed"] : []) + ["CPU"]
        let lines = rows.map { row in
            let missed = row.missedShare.map { "\(PageText.number(100 * $0)) %" } ?? "–"
            let figures =
                [row.ticks == 0 ? "–" : PageText.time(row.corrected.percentile(50)), row.p99.map(PageText.time) ?? "–"]
                + (hasMissed ? [missed] : [])
            let name = PageText.escaped(row.key.row)
            return """
                <tr class="\(look(row))\(row.problem == nil ? "" : " wrong")" data-row="\(name)">\
                <th scope="row">\(name)</th><td class="lane">\(lane(row, on: scale))</td>\
                \(figures.map { "<td>\($0)</td>" }.joined())\(price(row, highest))</tr>
                """
        }
        return """
            <table class="picture\(hasMissed ? " with-missed" : "")" aria-label="\(PageText.escaped(label))">
            <thead><tr><td></td><td class="lane">\(axis(scale))</td>\
            \(titles.map { "<th scope=\"col\">\($0)</th>" }.joined())</tr></thead>
            <tbody>
            \(lines.joined(separator: "\n"))
            </tbody></table>
            """
    }

    private func look(_ row: RowReport) -> String {
        let isChosen = row.key.kind == .backend && choices.contains(row.key.row)
        return (looks[row.key.row]?.style ?? "") + (isChosen ? " chosen" : "")
    }

    /// The line from the dot at p50 to the bar at p99.
    private func lane(_ row: RowReport, on scale: PageScale) -> String {
        let grid = scale.marks.map { PageDrawing.line(x: Self.inset($0.place), style: "grid") }.joined()
        guard row.ticks > 0 else { return "<svg>\(grid)<text y=\"50%\" dy=\"4\">no ticks</text></svg>" }
        let start = Self.inset(scale.place(row.corrected.percentile(50)))
        let tail = row.p99.map { p99 in
            let end = Self.inset(scale.place(p99))
            return "<line class=\"span\" x1=\"\(start)%\" x2=\"\(end)%\" y1=\"50%\" y2=\"50%\"/>"
                + "<line class=\"end\" x1=\"\(end)%\" x2=\"\(end)%\" y1=\"30%\" y2=\"70%\"/>"
        }
        let dot = "<circle class=\"dot\" cx=\"\(start)%\" cy=\"50%\" r=\"5\"/>"
        return "<svg aria-hidden=\"true\">\(grid)\(tail ?? "")\(dot)</svg>"
    }

    private func axis(_ scale: PageScale) -> String {
        let marks = scale.marks.map { mark in
            let place = Self.inset(mark.place)
            let anchor = mark.place < 6 ? "start" : mark.place > 94 ? "end" : "middle"
            return "<text x=\"\(place)%\" y=\"100%\" dy=\"-6\" text-anchor=\"\(anchor)\">\(mark.text)</text>"
        }
        return "<svg aria-hidden=\"true\">\(marks.joined())</svg>"
    }

    /// A place of the axis in percent of the picture, which leaves room for half a dot.
    private static func inset(_ place: Double) -> String { PageDrawing.number(2 + 0.96 * place) }

    /// Percent of a processor, as a number and as a bar.
    private func price(_ row: RowReport, _ highest: Double) -> String {
        guard let cpu = row.cpuPercent else { return "<td class=\"price\">–</td>" }
        return "<td class=\"price\">\(PageText.number(cpu)) %\(PageDrawing.bar(highest > 0 ? cpu / highest : 0))</td>"
    }
}
