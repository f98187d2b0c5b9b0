
/// A report as one HTML file that needs nothing else: no network, no fonts, no library, and to be read no script and no
/// style, which build servers forbid. A script that may run draws the tables anew, as a picture, from the results that
/// the file contains.
package struct Page: Sendable {
    private let report: Report
    private let words: Words

    package init(_ report: Report) { (self.report, words) = (report, Words(report)) }

    /// The whole page. Equal reports give equal pages.
    package var html: String {
        get throws {
            // The text of a script element ends at the first "</".
            let data = try JSONFile.encode(report).replacingScalars { $0 == "<" ? "\\u003c" : nil }
            let parts = [
                "title": "How late timers tick here", "style": Self.text(PackageResources.page_css),
                "script": Self.text(PackageResources.page_js), "data": data, "head": head.text,
                "tables": Markup.list(loads.map { table(under: $0) }).text,
                "terms": Markup(text: terms).text,
                "percentiles": Markup.list(loads.map { percentiles(under: $0) }).text,
                "facts": Markup.definitions(words.facts.map { ($0.name, $0.text, nil) }).text,
            ]
            let template = Self.text(PackageResources.page_html)
                .split(separator: "{{", omittingEmptySubsequences: false)
            return template.dropFirst()
                .reduce(into: String(template[0])) { page, part in
                    let (name, rest) = (part.prefix { $0 != "}" }, part.drop { $0 != "}" }.dropFirst(2))
                    page += parts[String(name), default: ""] + rest
                }
        }
    }

    private static func text(_ resource: [UInt8]) -> String {
        var text = String(decoding: resource, as: UTF8.self)
        if text.last == "\n" { text.removeLast() }
        return text
    }

    /// What was measured and what follows, beside what a stranger asks first. The script does so for another file.
    private var head: Markup {
        let sentences = (words.advice + words.notes).filter { !words.disturbance.contains($0) }
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
    private func table(under load: String) -> Markup {
        let rows = report.results.rows.filter { $0.key.load == load }
        let columns = RowColumn.first(comparedWith: report.rows.filter { $0.key.load == load }.nameOfBase)
        let lines = rows.map { row in
            let figures = report.row(row.key.row, load: load)
            let failure = Markup("td", ["colspan": "\(columns.count)"], text: row.obstacle ?? RowColumn.missing)
            return line(row.key, isBase: figures?.base == nil, figures.map { cells(columns, of: $0) } ?? [failure])
        }
        let problems = report.rows.filter { $0.key.load == load }
            .compactMap { row in row.row.problem.map { Markup("p", ["class": "warning"], text: "\(row.key): \($0)") } }
        return Markup.list([table(of: lines, columns, caption: "How late the rows tick", under: load)] + problems)
    }

    private func percentiles(under load: String) -> Markup {
        let lines = report.rows.filter { $0.key.load == load }
            .map { line($0.key, isBase: $0.base == nil, cells(RowColumn.percentiles, of: $0)) }
        return table(of: lines, RowColumn.percentiles, caption: "Percentiles and costs", under: load)
    }

    private func table(of lines: [Markup], _ columns: [RowColumn], caption: String, under load: String) -> Markup {
        let titles = (["row"] + columns.map(\.title)).map { Markup("th", ["scope": "col"], text: $0) }
        let place = loads == [RowKey.idle] ? "" : ", load \(load)"
        let parts = [
            Markup("caption", text: caption + place), Markup("thead", [Markup("tr", titles)]), Markup("tbody", lines),
        ]
        return Markup("table", ["class": "figures"], parts)
    }

    private func line(_ key: RowKey, isBase: Bool, _ cells: [Markup]) -> Markup {
        let kind = key.kind.rawValue + (isBase ? " reference" : "")
        return Markup("tr", ["class": kind], [Markup("th", ["scope": "row"], text: key.row)] + cells)
    }

    private func cells(_ columns: [RowColumn], of row: RowReport) -> [Markup] {
        columns.map { Markup(cell: $0.text(row), under: $0.title) }
    }

    /// Also those under which every row failed.
    private var loads: [String] {
        report.results.rows.map(\.key.load).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// The terms of the first table.
    private var terms: String {
        let others = report.rows.map(\.key).filter { $0.kind != .backend }
            .map(\.row).reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
        let without = " \(others.listed) tick\(others.count == 1 ? "s" : "") without the library."
        return
            "p99: 99 % of deadlines are no later. (?): too few deadlines or laps for a range. Missed: deadlines that "
            + "passed without a tick of their own. CPU: share of one core." + (others.isEmpty ? "" : without)
    }
}

/// A piece of HTML that is also XML. Text that comes from outside becomes a piece only escaped.
private struct Markup {
    let text: String

    /// The elements that end a line of the file.
    private static let blocks: Set = ["caption", "dd", "div", "dl", "h2", "li", "p", "tbody", "thead", "tr", "ul"]

    private init(html: String) { text = html }

    init(text: String) { self.text = text.escapedForXML }

    /// An attribute that is nil is left out.
    init(_ name: String, _ attributes: KeyValuePairs<String, String?> = [:], _ children: [Markup]) {
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

    /// Names with what is said of each, and the class of that.
    static func definitions(_ parts: [(name: String, text: String, kind: String?)], class: String? = nil) -> Markup {
        let pairs: [[Markup]] = parts.map { part in
            [Markup("dt", text: part.name), Markup("dd", ["class": part.kind], text: part.text)]
        }
        return Markup("dl", ["class": `class`], pairs.flatMap(\.self))
    }
}
