package import TimerResults

/// A report as one HTML file that needs nothing else: no network, no fonts, no library.
///
/// All text and all tables are HTML, to be read, searched and printed without scripts. The script only draws the
/// pictures, from values that the page embeds as JSON.
package struct Page: Sendable {
    private let report: Report
    private let title: String

    package init(_ report: Report, title: String = "How precisely timers tick here") {
        self.report = report
        self.title = title
    }

    /// The whole page. Equal reports give equal pages.
    package var html: String {
        let data = PageData(report)
        let facts = PageFacts(report)
        let sections = data.loads.map { PageLoad(report: report, load: $0).html }
        let hosts = report.results.hosts.map { "<p class=\"quiet\">\(PageText.escaped($0.summary))</p>" }
        return Self.filled([
            "title": PageText.escaped(title),
            "style": Self.text(PackageResources.page_css),
            "script": Self.text(PackageResources.page_js),
            "question": PageText.escaped(facts.question),
            "hosts": hosts.joined(separator: "\n"),
            "warnings": facts.warnings,
            "loads": data.loads.count > 1 ? choice(of: data.loads) : "",
            "overview": overview(data.loads),
            "sections": sections.joined(separator: "\n"),
            "facts": facts.html,
            "data": data.json,
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

    /// The buttons that choose a load.
    private func choice(of loads: [String]) -> String {
        let buttons = (loads + [""])
            .map { load in
                "<button type=\"button\" data-show-load=\"\(PageText.escaped(load))\">"
                    + "\(load.isEmpty ? "all loads" : PageText.escaped(load))</button>"
            }
        return "<div class=\"choice\" role=\"group\" aria-label=\"Load\">\(buttons.joined())</div>"
    }

    private func overview(_ loads: [String]) -> String {
        PagePicture(
            name: "overview",
            title: "All rows at a glance",
            load: nil,
            sentence: loads.map { load in PageSentences.overview(report.rows.filter { $0.key.load == load }) }
                .joined(separator: " "),
            note:
                "The marker is the median. The thick part of the line ends at the 99th percentile (the bar), the "
                + "thin part at the latest tick."
        )
        .html
    }
}
