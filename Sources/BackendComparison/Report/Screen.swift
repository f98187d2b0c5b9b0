/// The results as a person reads them first: what was measured and whether the machine was busy, a line for each row,
/// and what follows. If a terminal is too narrow for all columns, some are left out, and in a wide table they stand in
/// blocks below each other. No line is broken, unless a single word is longer.
package struct Screen: CustomStringConvertible {
    private let report: Report
    private let width: Int?
    private let isWide: Bool
    private let inColour: Bool

    /// A screen for a terminal with so many columns, which may understand colour. Without a width, it is for a file: a
    /// wide table then has one line for each row, and all else has at most 80 columns.
    package init(_ report: Report, width: Int? = nil, isWide: Bool = false, inColour: Bool = false) {
        (self.report, self.width) = (report, width)
        (self.isWide, self.inColour) = (isWide, inColour)
    }

    /// The whole text, without a line end at its end.
    package var description: String {
        let (words, width, loads) = (Words(report), width ?? 80, report.loads)
        let needTitles = loads.count > 1 || loads.contains { $0 != RowKey.idle }
        let missing = words.missing.isEmpty ? nil : "PARTIAL: \(words.missing.joined(separator: "; "))"
        let above = [missing, words.state].compactMap(\.self).flatMap { $0.wrapped(at: width) }.map { ink(.wrong, $0) }
        let blocks = loads.flatMap { load in
            (needTitles ? [ink(.strong, "load \(load)")] : []) + table(of: report.rows.filter { $0.key.load == load })
        }
        let below = (words.advice + words.notes).flatMap { $0.wrapped(at: width) }
        let heading = words.heading(width: width).wrapped(at: width).map { ink(.strong, $0) }
        return (heading + above + blocks + below).joined(separator: "\n")
    }

    private func table(of rows: [RowReport]) -> [String] {
        let base = rows.nameOfBase
        let hops = report.results.options.delivery != HandlerPlace.inline.rawValue
        var columns = isWide ? RowColumn.all(comparedWith: base, hops: hops) : RowColumn.first(comparedWith: base)
        if rows.count == 1 { columns.removeLast() }
        var layout = Self.layout(of: rows, columns)
        // Without these, in this order, if there is no room.
        for title in ["CPU", "drift ppm", "missed", "p99 (range)"] where !isWide && layout.width > width ?? 80 {
            columns.removeAll { $0.title == title }
            layout = Self.layout(of: rows, columns)
        }
        return layout.blocks(width: width)
            .flatMap { block in
                [block.titles]
                    + zip(rows, block.rows)
                    .flatMap { row, lines in
                        lines.map { line in
                            row.row.problem != nil
                                ? ink(.wrong, line) : row.key.kind == .backend ? line : ink(.faint, line)
                        }
                    }
            }
    }

    private static func layout(of rows: [RowReport], _ columns: [RowColumn]) -> TextColumns {
        TextColumns([""] + columns.map(\.title), rows.map { row in [row.key.row] + columns.map { $0.text(row) } })
    }

    private func ink(_ ink: Ink, _ text: String) -> String { inColour ? ink.on(text) : text }
}

/// Several results side by side: the same figure of each stands together.
package struct SideBySide: CustomStringConvertible {
    private let reports: [(name: String, report: Report)]
    private let width: Int?

    /// At least two, with the names of their files. If a terminal with so many columns has no room for all figures,
    /// they stand in blocks below each other; without a width, for a file, each row has one line.
    package init(_ reports: [(name: String, report: Report)], width: Int? = nil) {
        (self.reports, self.width) = (reports, width)
    }

    /// The whole text, without a line end at its end.
    package var description: String {
        let headings = reports.enumerated()
            .flatMap { number, one in
                let words = Words(one.report)
                let more: [String?] = [
                    words.state, words.missing.isEmpty ? nil : "PARTIAL: \(words.missing.joined(separator: "; "))",
                ]
                let needs: [String] = one.report.results.judgements.map(\.title)
                let title = String.labelled(
                    "\(number + 1)  ",
                    "\(one.name.inOneLine): \(words.heading())",
                    width: width
                )
                return title + (more.compactMap(\.self) + needs).flatMap { String.labelled("   ", $0, width: width) }
            }
        let keys = reports.flatMap { $0.report.rows.map(\.key) }
            .reduce(into: [RowKey]()) { if !$0.contains($1) { $0.append($1) } }
        let columns = RowColumn.first(comparedWith: "").prefix(3)
        let titles = columns.flatMap { column in reports.indices.map { "\(column.title) \($0 + 1)" } }
        let cells = keys.map { key in
            ["\(key)"]
                + columns.flatMap { column in
                    reports.map { $0.report.row(key.row, load: key.load).map(column.text) ?? RowColumn.missing }
                }
        }
        let first = reports[0].report.results
        let differences = reports.enumerated().dropFirst()
            .flatMap { number, one in
                first.difference(from: one.report.results)
                    .map { "1 and \(number + 1) differ in machine or options (\($0)): compare with care." }
                    .map { String.labelled("", $0, width: width) } ?? []
            }
        let table = TextColumns([""] + titles, cells).blocks(width: width, group: reports.count)
            .flatMap { [$0.titles] + $0.rows.flatMap(\.self) }
        return (headings + table + differences).joined(separator: "\n")
    }
}

extension Judgement {
    /// `need p99 < 200us: undecided`
    var title: String { "need \(need): \(outcome.words)" }

    /// The need, and a line for each row; on a terminal with so many columns, wrapped.
    package func lines(width: Int? = nil) -> String {
        let names = findings.map(\.name.count).max() ?? 0
        let rows = findings.flatMap { finding in
            let (word, row) = (finding.outcome.words, finding.name)
            let label = "  \(word)\(spaces(max(9 - word.count, 0)))  \(row)\(spaces(names - row.count))  "
            return String.labelled(label, finding.reason, width: width)
        }
        return (String.labelled("need ", "\(need): \(outcome.words)", width: width) + rows).joined(separator: "\n")
    }
}

extension Judgement.Finding {
    /// `undecided: timerfd, p99 19 ms (0.16–32); a decision takes about 2 times as long`
    var sentence: String { "\(outcome.words): \(name), \(reason)" }
}

/// A diagnosis as a person reads it: one line for each finding, its advice below, and one line of summary.
package struct DiagnosisTable: CustomStringConvertible {
    private let diagnosis: Diagnosis
    private let width: Int
    private let inColour: Bool

    /// A table for a terminal with so many columns, which may understand colour; without a width, for a file.
    package init(_ diagnosis: Diagnosis, width: Int? = nil, inColour: Bool = false) {
        self.diagnosis = diagnosis
        self.width = width ?? 80
        self.inColour = inColour
    }

    /// The whole text, without a line end at its end.
    package var description: String {
        let names = 2 + (MachineFinding.Level.allCases.map(\.rawValue.count).max() ?? 0)
        let facts = names + 2 + (diagnosis.findings.map(\.name.count).max() ?? 0)
        let findings: [String] = diagnosis.findings.flatMap { finding in
            let level = finding.level.rawValue
            let label = level + spaces(names - level.count) + finding.name
            let found = String.labelled(label + spaces(facts - label.count), finding.found, width: width, below: names)
            let advice = finding.advice.map { String.labelled(spaces(names), $0, width: width) } ?? []
            return [coloured(finding.level) + (found.first ?? "").dropFirst(level.count)] + found.dropFirst() + advice
        }
        return (findings + diagnosis.summary.wrapped(at: width)).joined(separator: "\n")
    }

    /// What limits precision stands out, and so does what differs.
    private func coloured(_ level: MachineFinding.Level) -> String {
        let ink: Ink = [.limits, .differs].contains(level) ? .strong : .faint
        return inColour && level != .good ? ink.on(level.rawValue) : level.rawValue
    }
}
