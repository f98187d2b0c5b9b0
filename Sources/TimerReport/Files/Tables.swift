package import TimerResults

/// The results as comma-separated values (RFC 4180, but lines end in LF): one line for each figure of each row, with
/// the ends of its interval. A missing value is empty, and the decimal separator is always a point.
///
/// A need has a line without a row, and one for each row that it was held against. Their values are the exit codes, so
/// that each value is a number.
package struct CSVTable: CustomStringConvertible {
    private let report: Report

    package init(_ report: Report) { self.report = report }

    package var description: String {
        let lines = report.rows.flatMap { row in
            Figure.allCases.compactMap { figure in
                figure(row)
                    .map { known in
                        let ends = known.interval.map { ["\($0.lowerBound)", "\($0.upperBound)"] } ?? ["", ""]
                        return [row.key.row, row.key.load, figure.field, "\(known.value)"] + ends
                    }
            } + [[row.key.row, row.key.load, "max_ns", "\(row.worst)", "", ""]]
        }
        let needs = report.results.judgements.flatMap { judgement -> [[String]] in
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

/// The results as GitHub's Markdown: what was measured, the table, what follows, and the needs.
package struct MarkdownTable: CustomStringConvertible {
    private let report: Report

    package init(_ report: Report) { self.report = report }

    package var description: String {
        let words = Words(report)
        let columns = RowColumn.first(comparedWith: report.rows.nameOfBase)
        let titles = ["row"] + columns.map(\.title)
        let rule = titles.indices.map { $0 == 0 ? "---" : "---:" }
        let cells = report.rows.map { row in ["\(row.key)"] + columns.map { $0.text(row) } }
        let table = ([titles, rule] + cells)
            .map { line in "| \(line.map(\.escapedForMarkdown).joined(separator: " | ")) |" }
        let above =
            [words.heading()] + [words.state, words.partial].compactMap { $0.map { "**\($0.escapedForMarkdown)**" } }
        let below = (words.advice + words.notes).map { "- \($0.escapedForMarkdown)" }
        let needs = report.results.judgements.flatMap { judgement in
            [
                "**\(judgement.title.escapedForMarkdown)**",
                judgement.findings.map { "- \($0.sentence.escapedForMarkdown)" }.joined(separator: "\n"),
            ]
        }
        let parts = [above.joined(separator: "\n\n"), table.joined(separator: "\n"), below.joined(separator: "\n")]
        return (parts + needs).filter { !$0.isEmpty }.joined(separator: "\n\n")
    }
}

/// What became of the needs, as a JUnit file for the test reports of CI systems. A row is a test case; an undecided one
/// is a skipped one. All test cases are of one measurement, so each has an equal share of its time: readers that show
/// the sum, such as GitLab, and those that show the suite's own time, such as Jenkins, show the same.
package struct JUnitFile: CustomStringConvertible {
    private let judgements: [Judgement]
    /// The seconds that the measurement took.
    private let seconds: Double
    /// Why the measurement itself failed, one line each.
    private let errors: [String]

    package init(_ judgements: [Judgement], seconds: Double, errors: [String] = []) {
        (self.judgements, self.seconds) = (judgements, seconds)
        self.errors = errors
    }

    package var description: String {
        // If some backend is enough, the others need not be; and if none is for sure, none fails.
        let needs = judgements.flatMap { judgement in
            judgement.findings.filter { $0.outcome == .meets || judgement.outcome != .meets }
                .map { (judgement.need, $0, min($0.outcome, judgement.outcome)) }
        }
        func count(_ outcome: Judgement.Outcome) -> Int { needs.count { $0.2 == outcome } }
        let number = errors.count + needs.count
        let share = "time=\"\(NumberText.fixed(seconds / Double(max(number, 1)), places: 3))\""
        // Jenkins shows the attribute, and GitLab the text.
        func flaw(_ kind: String, _ reason: String) -> String { "<\(kind) message=\"\(reason)\">\(reason)</\(kind)>" }
        func testCase(_ name: String, _ place: String, _ content: String) -> String {
            "  <testcase name=\"\(name.escapedForXML)\" classname=\"\(place.escapedForXML)\" \(share)>"
                + "\(content)</testcase>"
        }
        let broken = errors.map { error in
            testCase("the measurement", "compare-backends", flaw("error", error.escapedForXML))
        }
        let cases = needs.map { need, finding, outcome in
            let reason = finding.reason.escapedForXML
            let content =
                switch outcome {
                case .meets: "<system-out>\(reason)</system-out>"
                case .undecided: "<skipped message=\"\(reason)\"/>"
                case .fails: flaw("failure", reason)
                }
            return testCase(need, finding.name, content)
        }
        let counts =
            "tests=\"\(number)\" failures=\"\(count(.fails))\" errors=\"\(errors.count)\" "
            + "skipped=\"\(count(.undecided))\" time=\"\(NumberText.fixed(seconds, places: 3))\""
        let head = ["<?xml version=\"1.0\" encoding=\"UTF-8\"?>", "<testsuite name=\"compare-backends\" \(counts)>"]
        return (head + broken + cases + ["</testsuite>"]).joined(separator: "\n")
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
