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
