/// Lays out text in columns that are as wide as their widest cell. Columns of one group stand close together.
package struct TextColumns {
    package struct Column {
        let group: String
        let title: String
        let isFlushLeft: Bool

        package init(_ title: String = "", group: String = "", isFlushLeft: Bool = true) {
            self.group = group
            self.title = title
            self.isFlushLeft = isFlushLeft
        }
    }

    private let columns: [Column]
    private let cells: [[Inked]]
    private let groups: [Range<Int>]
    private var widths: [Int]
    private let inColour: Bool

    /// A layout for lines that have one cell for each column.
    init(_ columns: [Column], _ cells: [[Inked]], inColour: Bool = false) {
        self.columns = columns
        self.cells = cells
        self.inColour = inColour
        groups = columns.map(\.group).neighbours
        widths = columns.indices.map { column in
            max(columns[column].title.count, cells.map { $0[column].text.count }.max() ?? 0)
        }
        // If a group is narrower than its name, its first column gets wider.
        for group in groups {
            widths[group.lowerBound] += max(0, columns[group.lowerBound].group.count - width(of: group))
        }
    }

    /// The same without ink.
    package init(_ columns: [Column], _ cells: [[String]]) {
        self.init(columns, cells.map { $0.map { Inked($0) } })
    }

    private func width(of group: Range<Int>) -> Int { widths[group].reduce(0, +) + group.count - 1 }

    /// The width of the widest line.
    var width: Int { groups.reduce(0) { $0 + width(of: $1) } + 2 * (groups.count - 1) }

    /// One line for each line of cells.
    package var lines: [String] { cells.map { line($0) } }

    /// The titles of the columns.
    package var titles: String { line(columns.map { Inked($0.title) }) }

    /// The names of the groups.
    var groupNames: String { joined(groups.map { name(of: $0) }) }

    /// A thin line under the first column.
    var rule: Inked { Inked(String(repeating: "╌", count: widths[0]), .faint) }

    private func line(_ cells: [Inked]) -> String {
        joined(groups.map { $0.map { padded(cells[$0], $0) }.joined(separator: " ") })
    }

    private func joined(_ parts: [String]) -> String {
        var line = parts.joined(separator: "  ")
        while line.last == " " { line.removeLast() }
        return line
    }

    private func padded(_ cell: Inked, _ column: Int) -> String {
        let space = String(repeating: " ", count: widths[column] - cell.text.count)
        let shown = cell.shown(inColour: inColour)
        return columns[column].isFlushLeft ? shown + space : space + shown
    }

    /// A group's name; a rule shows how far a group of several columns reaches.
    private func name(of group: Range<Int>) -> String {
        let column = columns[group.lowerBound]
        let space = width(of: group) - column.group.count
        let blank = String(repeating: " ", count: space)
        guard group.count > 1, space > 3 else {
            return group.count == 1 && column.isFlushLeft ? column.group + blank : blank + column.group
        }
        let left = (space - 2) / 2
        return String(repeating: "─", count: left) + " \(column.group) "
            + String(repeating: "─", count: space - 2 - left)
    }
}

extension [String] {
    /// The ranges of equal neighbours. An empty string is a range of its own.
    var neighbours: [Range<Int>] {
        indices.reduce(into: []) { ranges, index in
            if let last = ranges.last, !self[index].isEmpty, self[last.lowerBound] == self[index] {
                ranges[ranges.count - 1] = last.lowerBound..<index + 1
            } else {
                ranges.append(index..<index + 1)
            }
        }
    }
}

/// How text stands out on a terminal: ECMA-48's "select graphic rendition".
///
/// The package Rainbow decides by itself whether to print colour, and its switches are unguarded variables of the
/// process, which Swift 6 does not let us set.
package enum Ink: String, Hashable, Sendable {
    /// The best of a column.
    case best = "1;32"
    /// A broken promise.
    case wrong = "1;31"
    case strong = "1"
    case faint = "2"

    /// Whether output may be coloured: on a terminal that can show colour, unless the environment forbids it
    /// (no-color.org).
    package static func isWanted(isTerminal: Bool, environment: [String: String]) -> Bool {
        isTerminal && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
    }

    func on(_ text: String) -> String { "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" }
}

/// Text in an ink.
struct Inked: Hashable, Sendable {
    let text: String
    let ink: Ink?

    init(_ text: String, _ ink: Ink? = nil) {
        self.text = text
        self.ink = ink
    }

    func shown(inColour: Bool) -> String { inColour && !text.isEmpty ? ink?.on(text) ?? text : text }
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
}
