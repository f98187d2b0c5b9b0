package import TimerResults

/// A report as one HTML file that needs nothing else: no network, no fonts, no library.
///
/// All text, tables and pictures are HTML and SVG, to be read and printed without scripts. The script only shows and
/// hides parts, and keeps the reader's choices in the address.
package struct Page: Sendable {
    private let report: Report
    private let title: String

    package init(_ report: Report, title: String = "How precisely timers tick here") {
        self.report = report
        self.title = title
    }

    /// The whole page. Equal reports give equal pages.
    package var html: String {
        let facts = PageFacts(report)
        let looks = PageLook.of(report)
        let loads = report.loads
        let sections = (loads.isEmpty ? [RowKey.idle] : loads)
            .map { PageLoad(report: report.under($0), load: $0, all: report, looks: looks).html }
        return Self.filled([
            "title": PageText.escaped(title),
            "style": Self.text(PackageResources.page_css),
            "script": Self.text(PackageResources.page_js),
            "line": PageText.escaped(facts.line),
            "warnings": facts.warnings,
            "choices": choices(of: loads),
            "sections": sections.joined(separator: "\n"),
            "facts": facts.html,
        ])
    }

    /// The page with values in place of their names, as `{{title}}`. A name inside a value stays as it is.
    private static func filled(_ values: [String: String]) -> String {
        let parts = text(PackageResources.page_html).split(separator: "{{", omittingEmptySubsequences: false)
        return parts.dropFirst()
            .reduce(into: String(parts[0])) { page, part in
                let (name, rest) = (part.prefix { $0 != "}" }, part.drop { $0 != "}" }.dropFirst(2))
                page += values[String(name), default: ""] + rest
            }
    }

    private static func text(_ resource: [UInt8]) -> String {
        var text = String(decoding: resource, as: UTF8.self)
        if text.last == "\n" { text.removeLast() }
        return text
    }

    /// What a reader can choose for the whole page: a load if there are several, and peers if there are any.
    private func choices(of loads: [String]) -> String {
        let buttons = loads.enumerated()
            .map { number, load in
                "<label><input type=\"radio\" name=\"load\" value=\"\(PageText.escaped(load))\""
                    + "\(number == 0 ? " checked" : "")><span>\(PageText.escaped(load))</span></label>"
            }
        let load = loads.count < 2 ? "" : "<fieldset><legend>Load</legend>\(buttons.joined())</fieldset>"
        let hasPeers = report.rows.contains { $0.key.kind == .peer }
        // Without a backend, peers are the whole result. Another build's rows are half of it.
        let isWhole = !report.rows.contains { $0.key.kind == .backend }
        let isAsked = isWhole || report.rows.contains { $0.key.row.hasPrefix(RowKey.other) }
        let checked = isAsked ? " checked" : ""
        let peers = "<label><input type=\"checkbox\" id=\"peers\"\(checked)> Also show peers</label>"
        let all = load + (hasPeers ? peers : "")
        return all.isEmpty ? "" : "<form class=\"choices\" aria-label=\"What is shown\">\(all)</form>"
    }
}

extension Report {
    /// The loads in the order of the rows.
    var loads: [String] { rows.map(\.key.load).reduce(into: []) { if !$0.contains($1) { $0.append($1) } } }

    /// The same measurement under one of its loads.
    func under(_ load: String) -> Report { keeping { $0.load == load } }

    /// The same measurement with some of its rows.
    func keeping(_ isKept: (RowKey) -> Bool) -> Report {
        Report(
            Results(
                hosts: results.hosts,
                origins: results.origins,
                options: results.options,
                remarks: results.remarks,
                grants: results.grants,
                rounds: results.rounds.map { round in
                    Round(
                        host: round.host,
                        disturbances: round.disturbances,
                        laps: round.laps,
                        isComplete: round.isComplete,
                        cells: round.cells.filter { isKept($0.key) }
                    )
                }
            )
        )
    }

    /// The rows in the order of the page: backends, peers, references, each kind from early to late.
    var sortedRows: [RowReport] {
        [RowKey.Kind.backend, .peer, .reference]
            .flatMap { kind in
                rows.filter { $0.key.kind == kind }.sorted { $0.earliness < $1.earliness }
            }
    }
}

extension RowReport {
    /// The middle of the lateness, as the short table sorts by it; a row without ticks comes last.
    fileprivate var earliness: Int64 { self.ticks == 0 ? .max : corrected.percentile(50) }
}
