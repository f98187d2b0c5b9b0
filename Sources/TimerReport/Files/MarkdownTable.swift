package import TimerResults

/// The results as GitHub's Markdown: the table, the pairs, and the remarks.
package struct MarkdownTable: CustomStringConvertible {
    private let report: Report

    package init(_ report: Report) { self.report = report }

    /// The whole text, without a line end at its end.
    package var description: String {
        let notes = Notes(report)
        let parts = [[notes.heading + ".", ""] + notes.hosts.map { "- \($0)" }, rows, pairs, list(notes)]
        return parts.filter { !$0.isEmpty }.map { $0.joined(separator: "\n") }.joined(separator: "\n\n")
    }

    private var rows: [String] {
        let columns = FigureColumn.all(.table, for: report)
        // The first column of a group names the group for all.
        let groups = [""] + columns.map(\.column.group)
        let titles = zip(columns.map(\.column), groups)
            .map { $0.group.isEmpty || $0.group == $1 ? $0.title : "\($0.group) \($0.title)" }
        return Self.table(
            titles: ["row"] + titles,
            textColumns: 1,
            lines: report.rows.map { row in ["\(row.key)"] + columns.map { $0.text(row) } }
        )
    }

    private var pairs: [String] {
        let pairs = PairLines(report)
        guard let heading = pairs.heading else { return [] }
        let titles = ["first", "second"] + PairReport.Percentile.allCases.map(\.rawValue)
        let lines = pairs.cells.map { $0.map { $0.split(separator: " ").joined(separator: " ") } }
        return [heading, ""] + Self.table(titles: titles, textColumns: titles.count, lines: lines)
    }

    private func list(_ notes: Notes) -> [String] {
        notes.remarks.map { "- \($0.escapedForMarkdown)" }
            + notes.disturbances.enumerated()
            .map { ($0.offset == 0 ? "- " : "  - ") + $0.element.drop { $0 == " " } }
    }

    /// A table. The columns of figures are flush right.
    private static func table(titles: [String], textColumns: Int, lines: [[String]]) -> [String] {
        let rule = titles.indices.map { $0 < textColumns ? "---" : "---:" }
        let escaped = ([titles] + lines).map { $0.map(\.escapedForMarkdown) }
        return ([escaped[0], rule] + escaped.dropFirst()).map { "| \($0.joined(separator: " | ")) |" }
    }
}

extension String {
    /// With a backslash before each character that would end a cell or begin an emphasis.
    fileprivate var escapedForMarkdown: String {
        reduce(into: "") { text, character in
            if "\\|*_`<".contains(character) { text.append("\\") }
            text.append(character)
        }
    }
}

/// The rules and what became of them, as a JUnit file for the test reports of CI systems. A rule is a test case; an
/// undecided rule is a skipped one.
package struct JUnitFile: CustomStringConvertible {
    private let findings: [Judgement.Finding]
    /// Why the measurement itself failed, one line each.
    private let errors: [String]

    package init(_ findings: [Judgement.Finding], errors: [String] = []) {
        self.findings = findings
        self.errors = errors
    }

    /// The whole file, without a line end at its end.
    package var description: String {
        let rules = findings.map { finding in
            let name = "name=\"\(PageText.escaped(finding.rule))\" classname=\"\(PageText.escaped("\(finding.key)"))\""
            let reason = PageText.escaped(finding.reason)
            let result =
                switch finding.outcome {
                case .pass: "<system-out>\(reason)</system-out>"
                case .undecided: "<skipped message=\"\(reason)\"/>"
                case .fail: "<failure message=\"\(reason)\"/>"
                }
            return "  <testcase \(name)>\(result)</testcase>"
        }
        let broken = errors.map { error in
            "  <testcase name=\"the measurement\" classname=\"compare-backends\">"
                + "<error message=\"\(PageText.escaped(error))\"/></testcase>"
        }
        let cases = broken + rules
        let (failures, skipped) = (count(.fail), count(.undecided))
        let counts =
            "tests=\"\(cases.count)\" failures=\"\(failures)\" errors=\"\(errors.count)\" "
            + "skipped=\"\(skipped)\""
        return
            (["<?xml version=\"1.0\" encoding=\"UTF-8\"?>", "<testsuite name=\"compare-backends\" \(counts)>"]
            + cases + ["</testsuite>"])
            .joined(separator: "\n")
    }

    private func count(_ outcome: Judgement.Outcome) -> Int { findings.count { $0.outcome == outcome } }
}
