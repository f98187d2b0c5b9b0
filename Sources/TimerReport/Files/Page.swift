package import TimerResults

/// A report as one HTML file that needs nothing else: no network, no fonts, no library. Its script draws it from the
/// results that it contains.
package struct Page: Sendable {
    private let report: Report

    package init(_ report: Report) { self.report = report }

    /// The whole page. Equal reports give equal pages.
    package var html: String {
        get throws {
            // The text of a script element ends at the first "</".
            let data = try JSONFile.encode(report).reduce(into: "") { $0 += $1 == "<" ? "\\u003c" : String($1) }
            let parts = [
                "title": "How late timers tick here", "style": Self.text(PackageResources.page_css),
                "script": Self.text(PackageResources.page_js), "data": data,
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
}
