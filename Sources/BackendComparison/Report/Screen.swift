/// The results as a person reads them first: what was measured and whether the machine was busy, a line for each row,
/// and what follows. If a terminal is too narrow for all columns, some are left out, and in a wide table they stand in
/// blocks below each other. No line is broken, unless a single word is longer.
extension Report {
    /// The whole text, without a line end at its end, for a terminal with so many columns, which may understand colour.
    /// Without a width, it is for a file: a wide table then has one line for each row, and all else has at most 80
    /// columns.
    package func screen(width: Int? = nil, isWide: Bool = false, inColour: Bool = false) -> String {
        func ink(_ ink: Ink?, _ text: String) -> String { inColour ? ink?.on(text) ?? text : text }
        let (words, room) = (Words(self), width ?? 80)
        let needTitles = loads != [RowKey.idle]
        let above = [words.partial, words.state].compactMap(\.self).flatMap { $0.wrapped(at: room) }
        let blocks = loads.flatMap { load in
            let rows = rows.filter { $0.key.load == load }
            let table = columns(of: rows, width: width, isWide: isWide).blocks(width: width)
                .flatMap { block in
                    [block.titles] + zip(rows, block.rows).flatMap { row, lines in lines.map { ink(row.ink, $0) } }
                }
            return (needTitles ? [ink(.strong, "load \(load)")] : []) + table
        }
        let below = words.sentences.flatMap { $0.wrapped(at: room) }
        let heading = words.heading(width: room).wrapped(at: room).map { ink(.strong, $0) }
        let needs = results.judgements.map { $0.lines(width: width) }
        return (heading + above.map { ink(.wrong, $0) } + blocks + below + needs).joined(separator: "\n")
    }

    /// Those that have room.
    private func columns(of rows: [RowReport], width: Int?, isWide: Bool) -> TextColumns {
        let base = rows.nameOfBase
        let hops = results.options.delivery != HandlerPlace.inline.rawValue
        var columns = isWide ? RowColumn.all(comparedWith: base, hops: hops) : RowColumn.first(comparedWith: base)
        if rows.count == 1 || base.isEmpty { columns.removeLast() }
        var layout: TextColumns {
            TextColumns([""] + columns.map(\.title), rows.map { row in [row.key.row] + columns.map { $0.text(row) } })
        }
        // Without these, in this order, if there is no room.
        for title in ["CPU", "drift ppm", "missed", "p99 (range)"] where !isWide && layout.width > width ?? 80 {
            columns.removeAll { $0.title == title }
        }
        return layout
    }
}

extension RowReport {
    fileprivate var ink: Ink? { row.problem != nil ? .wrong : key.kind == .backend ? nil : .faint }
}

/// Several results side by side: the same figure of each stands together.
extension Report {
    /// At least two, with the names of their files. If a terminal with so many columns has no room for all figures,
    /// they stand in blocks below each other; without a width, for a file, each row has one line. There is no line end
    /// at the end.
    package static func sideBySide(_ reports: [(name: String, report: Report)], width: Int? = nil) -> String {
        let headings = reports.enumerated()
            .flatMap { number, one in
                let words = Words(one.report)
                let more = [words.state, words.partial].compactMap(\.self) + one.report.results.judgements.map(\.title)
                let title = "\(one.name.inOneLine): \(words.heading())"
                return String.labelled("\(number + 1)  ", title, width: width)
                    + more.flatMap { String.labelled("   ", $0, width: width) }
            }
        let keys = reports.flatMap { $0.report.rows.map(\.key) }.unique
        let columns = RowColumn.first(comparedWith: "").prefix(4)
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
    func lines(width: Int? = nil) -> String {
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
extension MachineFacts {
    /// The whole text, without a line end at its end, for a terminal with so many columns, which may understand colour.
    package func screen(width: Int = 80, inColour: Bool = false) -> String {
        let findings = findings
        let names = 2 + (MachineFinding.Level.allCases.map(\.rawValue.count).max() ?? 0)
        let facts = names + 2 + (findings.map(\.name.count).max() ?? 0)
        let lines: [String] = findings.flatMap { finding in
            let level = finding.level.rawValue
            let label = level + spaces(names - level.count) + finding.name
            let found = String.labelled(label + spaces(facts - label.count), finding.found, width: width, below: names)
            let advice = finding.advice.map { String.labelled(spaces(names), $0, width: width) } ?? []
            // What limits precision stands out, and so does what differs.
            let ink: Ink = [.limits, .differs].contains(finding.level) ? .strong : .faint
            let word = inColour && finding.level != .good ? ink.on(level) : level
            return [word + (found.first ?? "").dropFirst(level.count)] + found.dropFirst() + advice
        }
        return (lines + summary.wrapped(at: width)).joined(separator: "\n")
    }
}
