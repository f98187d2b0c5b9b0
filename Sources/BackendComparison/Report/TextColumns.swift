/// Lays out text in columns that are as wide as their widest cell, with two spaces in between. The first one has names,
/// which are flush left; the others have numbers, which end at the right.
struct TextColumns {
    /// A line of titles, and the lines of each row.
    typealias Block = (titles: String, rows: [[String]])

    private let titles: [String]
    private let cells: [[String]]
    private let widths: [Int]

    /// Rows of one cell for each title.
    init(_ titles: [String], _ cells: [[String]]) {
        (self.titles, self.cells) = (titles, cells)
        widths = titles.indices.map { column in ([titles] + cells).map { $0[column].count }.max() ?? 0 }
    }

    /// The width of the widest line, if all columns stand side by side.
    var width: Int { widths.reduce(0, +) + 2 * (widths.count - 1) }

    /// The columns, in blocks below each other if they are wider than so many columns of a terminal. Each block begins
    /// with the names. Columns of one group, of so many in their order, stay together if they fit. If a name leaves no
    /// room for a column, the names of its block stand on lines of their own.
    func blocks(width: Int?, group size: Int = 1) -> [Block] {
        guard let width, self.width > width else { return [block(Array(titles.indices.dropFirst()))] }
        let room = width - widths[0]
        func need(_ columns: [Int]) -> Int { columns.reduce(0) { $0 + 2 + widths[$1] } }
        var blocks: [[Int]] = [[]]
        func add(_ columns: [Int]) {
            if need((blocks.last ?? []) + columns) > room { blocks.append([]) }
            blocks[blocks.count - 1] += columns
        }
        for first in stride(from: 1, to: titles.count, by: size) {
            let group = Array(first..<min(first + size, titles.count))
            for columns in need(group) <= room ? [group] : group.map({ [$0] }) { add(columns) }
        }
        return blocks.filter { !$0.isEmpty }.map { block($0, namesApart: need($0) > room) }
    }

    private func block(_ columns: [Int], namesApart isApart: Bool = false) -> Block {
        func line(_ cells: [String]) -> String {
            let name = isApart ? "" : cells[0] + spaces(widths[0] - cells[0].count)
            return columns.reduce(name) { $0 + spaces(2 + widths[$1] - cells[$1].count) + cells[$1] }.withoutSpacesAtEnd
        }
        let rows = cells.map { isApart ? [$0[0], line($0)].filter { !$0.isEmpty } : [line($0)] }
        return (line(titles), rows)
    }
}

/// How text stands out on a terminal: ECMA-48's "select graphic rendition".
enum Ink: String, Sendable {
    /// What must not be overlooked.
    case wrong = "1;31"
    case strong = "1"
    case faint = "2"

    func on(_ text: String) -> String { "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" }
}

extension String {
    /// Lines of whole words that are at most so wide. A longer word has a line of its own.
    func wrapped(at width: Int) -> [String] {
        split(separator: " ")
            .reduce(into: [String]()) { lines, word in
                if let last = lines.last, last.count + 1 + word.count <= width {
                    lines[lines.count - 1] = "\(last) \(word)"
                } else {
                    lines.append(String(word))
                }
            }
    }

    /// A label, and a text that is wrapped beside it; or below it, from a column on, if beside it there is no room. In
    /// one line without a width.
    static func labelled(_ label: String, _ text: String, width: Int?, below column: Int = 4) -> [String] {
        guard let width else { return [label + text] }
        let isBeside = width - label.count >= Swift.min(20, text.count)
        let indent = isBeside ? label.count : column
        let lines = text.wrapped(at: width - indent).map { spaces(indent) + $0 }
        let first = label + (lines.first ?? "").dropFirst(indent)
        if isBeside { return [first] + lines.dropFirst() }
        let above = label.withoutSpacesAtEnd
        return (above.count <= width ? [above] : above.wrapped(at: width)) + lines
    }

    fileprivate var withoutSpacesAtEnd: String {
        String(self[..<(lastIndex { $0 != " " }.map(index(after:)) ?? startIndex)])
    }
}

func spaces(_ count: Int) -> String { String(repeating: " ", count: count) }

/// What a stream can show.
package struct Display: Hashable, Sendable {
    /// Whether it is a terminal that obeys escape codes and takes a line back. A TERM that is missing or dumb says no,
    /// and so does NO_COLOR, whose users want neither (no-color.org).
    package let obeysEscapes: Bool
    /// The columns of the terminal; nil for a file or a pipe. COLUMNS comes before the terminal's own word
    /// (environ(7)).
    package let width: Int?
    /// Whether the environment names a locale without Unicode, such as C. Without a word of a locale, as in most
    /// containers, the text is UTF-8.
    private let isASCII: Bool

    package init(isTerminal: Bool, columns: Int?, environment: [String: String]) {
        func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        let asked = value("COLUMNS").flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
        width = isTerminal ? asked ?? columns ?? 80 : nil
        obeysEscapes = isTerminal && value("NO_COLOR") == nil && (value("TERM") ?? "dumb") != "dumb"
        // The order of setlocale(3).
        let locale = value("LC_ALL") ?? value("LC_CTYPE") ?? value("LANG") ?? "UTF-8"
        isASCII = !locale.lowercased().replacing("-", with: "").contains("utf8")
    }

    /// A text in the characters that the locale has. Signs of the command's own get others of the same width. Names of
    /// the user's keep theirs.
    package func text(_ text: String) -> String {
        guard isASCII else { return text }
        return String(text.replacing(" ± ", with: "+/-").map { Self.signs[$0] ?? $0 })
    }

    private static let signs: [Character: Character] = [
        "µ": "u", "–": "-", "·": "-", "…": "~", "’": "'", "“": "\"", "”": "\"",
    ]
}
