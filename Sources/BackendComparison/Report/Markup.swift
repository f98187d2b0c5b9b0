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

    /// Names with what is said of each, and the class of that.
    static func definitions(_ parts: [(name: String, text: String, kind: String?)], class: String? = nil) -> Markup {
        let pairs: [[Markup]] = parts.map { part in
            [Markup("dt", text: part.name), Markup("dd", ["class": part.kind], text: part.text)]
        }
        return Markup("dl", ["class": `class`], pairs.flatMap(\.self))
    }
}
