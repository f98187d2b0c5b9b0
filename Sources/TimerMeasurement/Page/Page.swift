/// A report as one HTML page that needs nothing else: no network, no fonts, no library.
///
/// All text and all tables are in the HTML itself, so that they can be read, searched and printed without scripts; the
/// script only draws the pictures, from values that are embedded as JSON.
package struct Page: Sendable, CustomStringConvertible {
    private let report: Report
    private let title: String

    package init(_ report: Report, title: String = "How precisely timers tick here") {
        self.report = report
        self.title = title
    }

    package var description: String { html }

    /// The whole page. Equal reports give equal pages.
    package var html: String {
        let data = PageData(report)
        let sections = data.loads.map { PageLoad(report: report, data: data, load: $0).html }
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta http-equiv="Content-Security-Policy" content="\(Self.policy)">
            <title>\(PageText.escaped(title))</title>
            <link rel="icon" href="data:,">
            <style>
            \(PageStyle.text)
            </style>
            <script>
            \(PageScript.errors)
            </script>
            </head>
            <body>
            \(head(data))
            \(controls(data))
            <main>
            \(overview(data))
            \(sections.joined(separator: "\n"))
            \(PageFacts(report).html)
            </main>
            <div id="tip" role="status" aria-live="polite"></div>
            <script type="application/json" id="data">\(data.json)</script>
            <script>
            \(PageScript.text)
            </script>
            </body>
            </html>

            """
    }

    /// What a browser may load for the page: nothing but what is in it.
    private static let policy =
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; "
        + "form-action 'none'"

    private func head(_ data: PageData) -> String {
        let hosts = report.results.hosts.map { "<p class=\"quiet\">\(PageText.escaped($0.summary))</p>" }
        return """
            <header>
            <div class="title"><h1>\(PageText.escaped(title))</h1>
            <button type="button" id="theme" aria-label="Change between light and dark">Light or dark</button></div>
            <p class="lead">\(PageText.escaped(PageFacts(report).question))</p>
            \(hosts.joined(separator: "\n"))
            \(PageFacts(report).warnings)
            <noscript><p class="warning">The pictures are drawn by a script; the tables say the same.</p></noscript>
            </header>
            """
    }

    /// The bar that stays in sight: which load is shown, and which rows.
    private func controls(_ data: PageData) -> String {
        let loads = (data.loads + (data.loads.count > 1 ? [""] : []))
            .map { load in
                let name = load.isEmpty ? "all loads" : load
                return "<button type=\"button\" data-show-load=\"\(PageText.escaped(load))\">"
                    + "\(PageText.escaped(name))</button>"
            }
        let choice =
            data.loads.count > 1
            ? "<div class=\"choice\" role=\"group\" aria-label=\"Load\">\(loads.joined())</div>" : ""
        return """
            <nav aria-label="What is shown"><div class="bar">
            \(choice)
            <div id="legend" role="group" aria-label="Rows"></div>
            </div></nav>
            """
    }

    private func overview(_ data: PageData) -> String {
        let figure = PageFigure(
            picture: "overview",
            title: "All at a glance",
            load: nil,
            sentence: PageSentences.overview(report.rows),
            note: "Each line reaches from the median to the latest tick. The marker is the median, the thick part ends "
                + "at the 99th percentile (the bar), the thin part at the latest tick."
        )
        return "<section aria-label=\"Overview\">\n\(figure.html)\n</section>"
    }
}
