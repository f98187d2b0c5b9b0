/// A table with a heading and remarks; for terminals in aligned columns, or in Markdown.
struct Table {
    let title: String
    let columns: [String]
    var rows: [[String]] = []
    var remarks: [String] = []
    /// The output of other programs.
    var quotes: [(title: String, text: String)] = []

    /// Columns as wide as their widest cell, the first flush left.
    var terminal: String {
        let lines = [columns] + rows
        let widths = columns.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        let body = lines.map { line in
            line.indices.map { line[$0].padded(to: widths[$0], onTheLeft: $0 > 0) }.joined(separator: "   ")
        }
        let quoted = quotes.flatMap { ["", $0.title + ":", $0.text] }
        return ([title] + (body + remarks).map { "  " + $0 } + quoted).joined(separator: "\n") + "\n"
    }

    var markdown: String {
        let rule = columns.indices.map { $0 == 0 ? "---" : "---:" }
        let lines = ([columns, rule] + rows).map { "| \($0.joined(separator: " | ")) |" }
        let notes = remarks.isEmpty ? [] : [""] + remarks.map { "- \($0)" }
        let quoted = quotes.flatMap { ["", "\($0.title):", "", "```", $0.text, "```"] }
        return (["### \(title)", ""] + lines + notes + quoted).joined(separator: "\n") + "\n"
    }
}

extension String {
    func padded(to width: Int, onTheLeft: Bool = false) -> String {
        let padding = String(repeating: " ", count: max(0, width - count))
        return onTheLeft ? padding + self : self + padding
    }
}
