/// The results as a person reads them first: the measurement and whether the machine was busy, a line for each row,
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
            let first: String = word + (found.first ?? "").dropFirst(level.count)
            return [first] + found.dropFirst() + advice
        }
        return (lines + summary.wrapped(at: width)).joined(separator: "\n")
    }
}

/// Lays out text in columns that are as wide as their widest cell, with two spaces in between. The first one has names,
/// which are flush left; the others have numbers, which end at the right.
private struct TextColumns {
    /// A line of titles, and the lines of each row.
    typealias Block = (titles: String, rows: [[String]])

    private let titles: [String]
    private let cells: [[String]]
    private let widths: [Int]

    /// Rows of one cell for each title.
    init(_ titles: [String], _ cells: [[String]]) {
        (self.titles, self.cells) = (titles, cells)
        widths = titles.indices.map { column in ([titles] + cells).map { $0[column].count }.max() ?? 0 }
    }

    /// The width of the widest line, if all columns stand side by side.
    var width: Int { widths.reduce(0, +) + 2 * (widths.count - 1) }

    /// The columns, in blocks below each other if they are wider than so many columns of a terminal. Each block begins
    /// with the names. Columns of one group, of so many in their order, stay together if they fit. If a name leaves no
    /// room for a column, the names of its block stand on lines of their own.
    func blocks(width: Int?, group size: Int = 1) -> [Block] {
        guard let width, self.width > width else { return [block(Array(titles.indices.dropFirst()))] }
        let room = width - widths[0]
        func need(_ columns: [Int]) -> Int { columns.reduce(0) { $0 + 2 + widths[$1] } }
        var blocks: [[Int]] = [[]]
        func add(_ columns: [Int]) {
            if need((blocks.last ?? []) + columns) > room { blocks.append([]) }
            blocks[blocks.count - 1] += columns
        }
        for first in stride(from: 1, to: titles.count, by: size) {
            let group = Array(first..<min(first + size, titles.count))
            for columns in need(group) <= room ? [group] : group.map({ [$0] }) { add(columns) }
        }
        return blocks.filter { !$0.isEmpty }.map { block($0, namesApart: need($0) > room) }
    }

    private func block(_ columns: [Int], namesApart isApart: Bool = false) -> Block {
        func line(_ cells: [String]) -> String {
            let name = isApart ? "" : cells[0] + spaces(widths[0] - cells[0].count)
            return columns.reduce(name) { $0 + spaces(2 + widths[$1] - cells[$1].count) + cells[$1] }.withoutSpacesAtEnd
        }
        let rows = cells.map { isApart ? [$0[0], line($0)].filter { !$0.isEmpty } : [line($0)] }
        return (line(titles), rows)
    }
}

/// How text stands out on a terminal: ECMA-48's "select graphic rendition".
private enum Ink: String, Sendable {
    /// What must not be overlooked.
    case wrong = "1;31"
    case strong = "1"
    case faint = "2"

    func on(_ text: String) -> String { "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" }
}

extension String {
    /// Lines of whole words that are at most so wide. A longer word has a line of its own. A unit stays by its number.
    func wrapped(at width: Int) -> [String] {
        func joined(_ parts: [String], _ part: String, _ fits: (String) -> Bool) -> [String] {
            guard let last = parts.last, fits(last) else { return parts + [part] }
            return parts.dropLast() + ["\(last) \(part)"]
        }
        let words = split(separator: " ").map(String.init)
            .reduce([String]()) { words, word in
                let unit = word.prefix { $0.isLetter || $0 == "%" }
                return joined(words, word) {
                    ["%", "ns", "µs", "us", "ms", "s"].contains(unit) && $0.last?.isNumber == true
                }
            }
        return words.reduce([String]()) { lines, word in joined(lines, word) { $0.count + 1 + word.count <= width } }
    }

    /// A label, and a text that is wrapped beside it; or below it, from a column on, if beside it there is no room. In
    /// one line without a width.
    static func labelled(_ label: String, _ text: String, width: Int?, below column: Int = 4) -> [String] {
        guard let width else { return [label + text] }
        let isBeside = width - label.count >= Swift.min(20, text.count)
        let indent = isBeside ? label.count : column
        let lines = text.wrapped(at: width - indent).map { spaces(indent) + $0 }
        let first = label + (lines.first ?? "").dropFirst(indent)
        if isBeside { return [first] + lines.dropFirst() }
        let above = label.withoutSpacesAtEnd
        return (above.count <= width ? [above] : above.wrapped(at: width)) + lines
    }

    fileprivate var withoutSpacesAtEnd: String {
        String(self[..<(lastIndex { $0 != " " }.map(index(after:)) ?? startIndex)])
    }
}

func spaces(_ count: Int) -> String { String(repeating: " ", count: count) }

/// What a stream can show.
package struct Display: Hashable, Sendable {
    /// Whether it is a terminal that obeys escape codes and takes a line back. A TERM that is missing or dumb says no,
    /// and so does NO_COLOR, whose users want neither (no-color.org).
    package let obeysEscapes: Bool
    /// The columns of the terminal; nil for a file or a pipe. COLUMNS comes before the terminal's own word
    /// (environ(7)).
    package let width: Int?
    /// Whether the environment names a locale without Unicode, such as C. Without a word of a locale, as in most
    /// containers, the text is UTF-8.
    private let isASCII: Bool

    package init(isTerminal: Bool, columns: Int?, environment: [String: String]) {
        func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        let asked = value("COLUMNS").flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
        width = isTerminal ? asked ?? columns ?? 80 : nil
        obeysEscapes = isTerminal && value("NO_COLOR") == nil && (value("TERM") ?? "dumb") != "dumb"
        // The order of setlocale(3).
        let locale = value("LC_ALL") ?? value("LC_CTYPE") ?? value("LANG") ?? "UTF-8"
        isASCII = !locale.lowercased().replacing("-", with: "").contains("utf8")
    }

    /// A text in the characters that the locale has. Signs of the command's own get others of the same width. Names of
    /// the user's keep theirs.
    package func text(_ text: String) -> String {
        guard isASCII else { return text }
        return String(text.replacing(" ± ", with: "+/-").map { Self.signs[$0] ?? $0 })
    }

    private static let signs: [Character: Character] = [
        "µ": "u", "–": "-", "·": "-", "…": "~", "’": "'", "“": "\"", "”": "\"",
    ]
}
