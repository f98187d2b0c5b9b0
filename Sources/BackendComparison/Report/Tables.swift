/// The results as comma-separated values (RFC 4180, but lines end in LF): one line for each figure of each row, with
/// the ends of its interval. A missing value is empty, and the decimal separator is always a point.
///
/// A need has a line without a row, and one for each row that it was held against. Their values are the exit codes, so
/// that each value is a number.
extension Report {
    package var csv: String {
        let lines = rows.flatMap { row in
            Figure.allCases.compactMap { figure in
                row.figures[figure]
                    .map { known in
                        let ends = known.interval.map { ["\($0.lowerBound)", "\($0.upperBound)"] } ?? ["", ""]
                        return [row.key.row, row.key.load, figure.field, "\(known.value)"] + ends
                    }
            } + (row.worst.map { [[row.key.row, row.key.load, "max_ns", "\($0)", "", ""]] } ?? [])
        }
        let needs = results.judgements.flatMap { judgement -> [[String]] in
            func line(_ row: String, _ load: String, _ outcome: Judgement.Outcome) -> [String] {
                [row, load, "need \(judgement.need)", "\(outcome.exitCode)", "", ""]
            }
            return [line("", "", judgement.outcome)] + judgement.findings.map { line($0.row, $0.load, $0.outcome) }
        }
        return
            (["row,load,figure,value,low,high"] + (lines + needs).map { $0.map(\.quotedForCSV).joined(separator: ",") })
            .joined(separator: "\n")
    }
}

/// The results as GitHub's Markdown: the measurement, the table, its conclusions, and the needs.
extension Report {
    package var markdown: String {
        let words = Words(self)
        let columns = RowColumn.first(comparedWith: rows.nameOfBase)
        let titles = ["row"] + columns.map(\.title)
        let rule = titles.indices.map { $0 == 0 ? "---" : "---:" }
        let cells = rows.map { row in ["\(row.key)"] + columns.map { $0.text(row) } }
        let table = ([titles, rule] + cells)
            .map { line in "| \(line.map(\.escapedForMarkdown).joined(separator: " | ")) |" }
        let above =
            [words.heading()] + [words.state, words.partial].compactMap { $0.map { "**\($0.escapedForMarkdown)**" } }
        let below = words.sentences.map { "- \($0.escapedForMarkdown)" }
        let needs = results.judgements.flatMap { judgement in
            [
                "**\(judgement.title.escapedForMarkdown)**",
                judgement.findings.map { "- \($0.sentence.escapedForMarkdown)" }.joined(separator: "\n"),
            ]
        }
        let parts = [above.joined(separator: "\n\n"), table.joined(separator: "\n"), below.joined(separator: "\n")]
        return (parts + needs).filter { !$0.isEmpty }.joined(separator: "\n\n")
    }
}

// A reader of a file sees code points, and not characters: some letters make one character of themselves and the
// next code point, and would hide it.
extension String {
    /// With other text in place of some code points; nil keeps one.
    func replacingScalars(_ replacement: (Unicode.Scalar) -> String?) -> String {
        var scalars = UnicodeScalarView()
        for scalar in unicodeScalars {
            if let other = replacement(scalar) {
                scalars.append(contentsOf: other.unicodeScalars)
            } else {
                scalars.append(scalar)
            }
        }
        return String(scalars)
    }

    /// In quotes, if a reader would otherwise take the text apart.
    fileprivate var quotedForCSV: String {
        guard unicodeScalars.contains(where: { ",\"\n\r".unicodeScalars.contains($0) }) else { return self }
        return "\"" + replacingScalars { $0 == "\"" ? "\"\"" : nil } + "\""
    }

    /// With a backslash before each character that would end a cell or begin an emphasis.
    fileprivate var escapedForMarkdown: String {
        replacingScalars { "\\|*_`<".unicodeScalars.contains($0) ? "\\\($0)" : nil }
    }

    /// As the text of an element or an attribute of XML 1.0, which has no place for most control characters.
    var escapedForXML: String {
        replacingScalars { scalar in
            switch scalar {
            case "&": "&amp;"
            case "<": "&lt;"
            case ">": "&gt;"
            case "\"": "&quot;"
            case "\u{FFFE}", "\u{FFFF}": " "
            default: String(scalar).isOneLine ? nil : " "
            }
        }
    }
}
