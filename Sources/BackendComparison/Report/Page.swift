extension Report {
    /// The report as one HTML file.
    package var page: String { Page(self).html }
}

/// A report as one HTML file that needs nothing else: no network, no fonts, no script. Without a style, which build
/// servers forbid, the pictures are missing and every text and figure is there.
struct Page {
    private let report: Report
    private let words: Words
    private let spread: SpreadPicture

    init(_ report: Report) {
        (self.report, words, spread) = (report, Words(report), SpreadPicture(report.rows))
    }

    /// The whole page. Equal reports give equal pages.
    var html: String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; \
        style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
        <title>How late timers tick here</title>
        <link rel="icon" href="data:,">
        <style>
        \(String(decoding: PackageResources.page_css, as: UTF8.self))</style>
        </head>
        <body>
        <main>
        \(body.text)</main>
        </body></html>
        """
    }

    private var body: Markup {
        let title = Markup("h1", text: "How late timers tick here")
        let terms = Markup("p", ["class": "quiet"], text: terms)
        let facts = Fact.all(of: report.results).map { (name: $0.name, text: $0.text, kind: String?.none) }
        let pictures = loads.map(spreads) + [SpreadPicture.legend, terms] + loads.compactMap(stretches)
        return .list(
            [title, head] + pictures + loads.map(percentiles)
                + [Markup("h2", text: "How it was measured"), .definitions(facts)]
        )
    }

    /// The measurement and its conclusions, beside the answers to a stranger's first questions.
    private var head: Markup {
        let sentences = words.sentences.filter { !words.disturbance.contains($0) }
        let more = sentences.dropFirst().joined(separator: " ")
        let conclusions: [Markup?] = [
            Markup("p", ["class": "heading"], text: words.heading()),
            words.partial.map { Markup("p", ["class": "warning"], text: $0) },
            sentences.first.map { Markup("h2", text: $0) },
            more.isEmpty ? nil : Markup("p", ["class": "advice"], text: more),
        ]
        let needs = report.results.judgements.map { judgement in
            let title = Markup("p", ["class": judgement.outcome == .meets ? nil : "warning"], text: judgement.title)
            let findings = judgement.findings.map { Markup("li", text: $0.sentence) }
            return Markup("div", ["class": "need"], [title, Markup("ul", findings)])
        }
        let answers = Markup.definitions(
            [
                ("The machine during the run", words.disturbance, words.state == nil ? nil : "warning"),
                ("How reliable the figures are", words.confidence, nil),
            ],
            class: "answers"
        )
        return Markup("div", ["class": "head"], [Markup("div", conclusions.compactMap(\.self) + needs), answers])
    }

    /// The first table of a load, and the promises that its rows broke.
    private func spreads(under load: String) -> Markup {
        let known = report.rows.filter { $0.key.load == load }
        let columns = RowColumn.first(comparedWith: known.nameOfBase)
        let lines = report.results.rows.filter { $0.key.load == load }
            .map { row in
                guard let figures = known.first(where: { $0.key == row.key }) else {
                    let failure = row.obstacle ?? RowColumn.missing
                    return line(row.key, [Markup("td", ["colspan": "\(1 + columns.count)"], text: failure)])
                }
                return line(row.key, [spread.lane(figures)] + cells(columns, of: figures))
            }
        let problems = known.compactMap { row in
            row.row.problem.map { Markup("p", ["class": "warning"], text: "\(row.key): \($0)") }
        }
        let titles = [spread.head] + columns.map { title($0.title) }
        return .list([table("picture", "How late the rows tick", under: load, titles, lines)] + problems)
    }

    /// Nil without a series.
    private func stretches(under load: String) -> Markup? {
        let known = report.rows.filter { $0.key.load == load }
            .compactMap { row in row.row.series.map { (row, $0) } }
        let picture = StretchPicture(known.map(\.1))
        let columns = RowColumn.first(comparedWith: "").filter { $0.title == "drift ppm" }
        let lines = known.map { row, series in
            line(row.key, [picture.lane(row.key.row, series)] + cells(columns, of: row))
        }
        guard !lines.isEmpty else { return nil }
        let titles = [picture.head] + columns.map { title($0.title) }
        let note = StretchPicture.reading
        return table("picture stretch", "Lateness over time", note, under: load, titles, lines)
    }

    private func percentiles(under load: String) -> Markup {
        let lines = report.rows.filter { $0.key.load == load }
            .map { line($0.key, cells(RowColumn.percentiles, of: $0)) }
        let titles = RowColumn.percentiles.map { title($0.title) }
        return table("figures", "Every percentile", under: load, titles, lines)
    }

    private func table(
        _ kind: String,
        _ caption: String,
        _ note: String? = nil,
        under load: String,
        _ titles: [Markup],
        _ lines: [Markup]
    ) -> Markup {
        let place = loads == [RowKey.idle] ? "" : ", load \(load)"
        let notes = note.map { [Markup("p", ["class": "quiet"], text: $0)] } ?? []
        let parts = [
            Markup("caption", [Markup(text: caption + place)] + notes),
            Markup("thead", [Markup("tr", [title("row")] + titles)]), Markup("tbody", lines),
        ]
        return Markup("table", ["class": kind], parts)
    }

    private func title(_ text: String) -> Markup { Markup("th", ["scope": "col"], text: text) }

    private func line(_ key: RowKey, _ cells: [Markup]) -> Markup {
        Markup("tr", ["class": key.kind.rawValue], [Markup("th", ["scope": "row"], text: key.row)] + cells)
    }

    private func cells(_ columns: [RowColumn], of row: RowReport) -> [Markup] {
        columns.map { Markup(cell: $0.text(row), under: $0.title) }
    }

    /// Also those under which every row failed.
    private var loads: [String] { report.results.rows.map(\.key.load).unique }

    /// The terms of the first table.
    private var terms: String {
        let others = report.rows.map(\.key).filter { !$0.isOfLibrary }.map(\.row).unique
        let without = " \(others.listed) tick\(others.count == 1 ? "s" : "") without the library."
        return
            "p99: 99 % of deadlines are no later. (?): too few deadlines or laps for a range. Missed: deadlines that "
            + "passed without a tick of their own. CPU: share of one core." + (others.isEmpty ? "" : without)
    }
}

/// A piece of HTML that is also XML. Text that comes from outside becomes a piece only escaped.
struct Markup {
    let text: String

    /// The elements that end a line of the file.
    private static let blocks: Set = [
        "caption", "dd", "div", "dl", "h2", "li", "p", "svg", "table", "tbody", "thead", "tr", "ul",
    ]

    private init(html: String) { text = html }

    init(text: String) { self.text = text.escapedForXML }

    /// An attribute that is nil is left out.
    init(_ name: String, _ attributes: KeyValuePairs<String, String?> = [:], _ children: [Markup] = []) {
        let values = attributes.compactMap { key, value in value.map { " \(key)=\"\($0.escapedForXML)\"" } }
        let content = children.map(\.text).joined()
        text = "<\(name)\(values.joined())>\(content)</\(name)>" + (Self.blocks.contains(name) ? "\n" : "")
    }

    init(_ name: String, _ children: [Markup]) { self.init(name, [:], children) }

    init(_ name: String, _ attributes: KeyValuePairs<String, String?> = [:], text: String) {
        self.init(name, attributes, [Markup(text: text)])
    }

    /// A figure, which is on one line with its unit, and its range. A telephone shows the title of the column in front.
    init(cell: String, under title: String) {
        let parts = cell.split(separator: " (", maxSplits: 1)
        let value = Markup(text: (parts.first ?? "").split(separator: " ").joined(separator: "\u{A0}"))
        let range = parts.dropFirst().flatMap { [Markup(text: " "), Markup("small", text: "(\($0)")] }
        self.init("td", ["data-name": title], [value] + range)
    }

    static func list(_ pieces: [Markup]) -> Markup { Markup(html: pieces.map(\.text).joined()) }

    /// Names with their texts, and the class of each text.
    static func definitions(_ parts: [(name: String, text: String, kind: String?)], class: String? = nil) -> Markup {
        let pairs: [[Markup]] = parts.map { part in
            [Markup("dt", text: part.name), Markup("dd", ["class": part.kind], text: part.text)]
        }
        return Markup("dl", ["class": `class`], pairs.flatMap(\.self))
    }
}
