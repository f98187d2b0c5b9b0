/// Lays out text in columns that are as wide as their widest cell, with two spaces in between.
struct TextColumns {
    /// One line for each line of cells, the titles first.
    let lines: [String]
    /// The width of the widest line.
    let width: Int

    /// Lines of one cell for each title. In the columns that are flush left text begins; numbers end at the right.
    init(_ titles: [String], _ cells: [[String]], flushLeft: Set<Int> = [0]) {
        let all = [titles] + cells
        let widths = titles.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        lines = all.map { line in
            let parts = line.enumerated()
                .map { column, cell in
                    let space = String(repeating: " ", count: widths[column] - cell.count)
                    return flushLeft.contains(column) ? cell + space : space + cell
                }
            var text = parts.joined(separator: "  ")
            while text.last == " " { text.removeLast() }
            return text
        }
        width = widths.reduce(0, +) + 2 * (widths.count - 1)
    }
}

/// How text stands out on a terminal: ECMA-48's "select graphic rendition".
package enum Ink: String, Sendable {
    /// What must not be overlooked.
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
