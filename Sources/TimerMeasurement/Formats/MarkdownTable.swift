/// The results as GitHub's Markdown: the table, the pairs, and the remarks.
package struct MarkdownTable: CustomStringConvertible {
    private let report: Report

    package init(_ report: Report) { self.report = report }

    /// All of it, without a line end at its end.
    package var description: String {
        let notes = Notes(report)
        let parts = [[notes.heading + ".", ""] + notes.hosts.map { "- \($0)" }, rows, pairs, list(notes)]
        return parts.filter { !$0.isEmpty }.map { $0.joined(separator: "\n") }.joined(separator: "\n\n")
    }

    private var rows: [String] {
        let columns = ResultColumn.all(for: report)
        let titles = columns.map { $0.group.isEmpty ? $0.title : "\($0.group) \($0.title)" }
        return Self.table(
            titles: ["row"] + titles,
            textColumns: 1,
            lines: report.rows.map { row in ["\(row.case)"] + columns.map { $0.text(row) } }
        )
    }

    private var pairs: [String] {
        let pairs = PairLines(report)
        guard let heading = pairs.heading else { return [] }
        let titles = ["first", "second"] + Comparing.Figure.allCases.map(\.rawValue)
        let lines = pairs.cells.map { $0.map { $0.split(separator: " ").joined(separator: " ") } }
        return [heading, ""] + Self.table(titles: titles, textColumns: titles.count, lines: lines)
    }

    private func list(_ notes: Notes) -> [String] {
        notes.remarks.map { "- \($0.escapedForMarkdown)" }
            + notes.disturbances.enumerated()
            .map { ($0.offset == 0 ? "- " : "  - ") + $0.element.drop { $0 == " " } }
    }

    /// A table; all but the first columns are flush right.
    private static func table(titles: [String], textColumns: Int, lines: [[String]]) -> [String] {
        let rule = titles.indices.map { $0 < textColumns ? "---" : "---:" }
        let escaped = ([titles] + lines).map { $0.map(\.escapedForMarkdown) }
        return ([escaped[0], rule] + escaped.dropFirst()).map { "| \($0.joined(separator: " | ")) |" }
    }
}

extension String {
    /// With a backslash before what would end a cell or begin an emphasis.
    fileprivate var escapedForMarkdown: String {
        reduce(into: "") { text, character in
            if "\\|*_`<".contains(character) { text.append("\\") }
            text.append(character)
        }
    }
}
