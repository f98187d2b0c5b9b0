/// Text in columns as wide as their widest cell.
struct AlignedColumns: CustomStringConvertible {
    private let lines: [[String]]
    private let left: Set<Int>

    /// Columns with a header; flush right but for those named in `left`.
    init(header: [String], rows: [[String]], left: Set<Int>) {
        lines = [header] + rows
        self.left = left
    }

    var description: String {
        let widths = lines[0].indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        return
            lines.map { line in
                var text = line.indices
                    .map { column in
                        let space = String(repeating: " ", count: widths[column] - line[column].count)
                        return left.contains(column) ? line[column] + space : space + line[column]
                    }
                    .joined(separator: "  ")
                while text.last == " " { text.removeLast() }
                return text
            }
            .joined(separator: "\n")
    }
}
