package import TimerResults

/// The results as a person reads them first: one line of what was measured, a line for each row, one line of advice.
///
/// The earliest backend comes first, and every other row says how it compares with it. If a terminal is too narrow for
/// all columns, some are left out. No line is broken.
package struct ShortTable: CustomStringConvertible {
    private let report: Report
    private let width: Int
    private let inColour: Bool

    /// - Parameters:
    ///   - report: the report.
    ///   - width: the columns of the terminal.
    ///   - inColour: whether the terminal understands colour.
    package init(_ report: Report, width: Int = 80, inColour: Bool = false) {
        self.report = report
        self.width = max(width, 40)
        self.inColour = inColour
    }

    /// The whole text, without a line end at its end.
    package var description: String {
        let loads = report.rows.map(\.key.load).reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
        let needTitles = loads.count > 1 || loads.contains { $0 != RowKey.idle }
        let blocks = loads.flatMap { load -> [String] in
            let rows = report.rows.filter { $0.key.load == load }
            return (needTitles ? [Inked("load \(load)", .strong).shown(inColour: inColour)] : []) + lines(of: rows)
        }
        return ([Inked(heading, .strong).shown(inColour: inColour)] + blocks + footer).joined(separator: "\n")
    }

    // MARK: The rows

    /// The columns of figures.
    private enum Column: String, CaseIterable {
        case p50
        case p99
        case p999 = "p99.9"
        case missed
        case cpu = "CPU %"
        case drift = "drift ppm"

        /// The text for a figure that a row does not have.
        static let missing = "–"

        /// Whether the figure is a lateness. Only the last lateness names the unit.
        var isLateness: Bool { self == .p50 || self == .p99 || self == .p999 }

        func text(_ row: RowReport) -> String {
            switch self {
            case .p50: Self.microseconds(row, "p50")
            case .p99: Self.microseconds(row, "p99")
            case .p999: Self.microseconds(row, "p99.9")
            case .missed: row.missedShare.map { "\(NumberText.fixed(100 * $0, places: 1)) %" } ?? Self.missing
            case .cpu: NumberText.fixed(row.cpuPercent, places: 1)
            case .drift: row.drift?.words ?? Self.missing
            }
        }

        /// A percentile of all deadlines, so that a row that skips late ones does not look early.
        private static func microseconds(_ row: RowReport, _ percentile: String) -> String {
            let figure = Figure.all.first { $0.name == "corrected.\(percentile)" }
            guard let value = figure?(row) else { return Self.missing }
            return NumberText.microseconds(value, places: value < 9_950 ? 1 : 0)
        }
    }

    /// The parts of a table that fit the terminal.
    private struct Layout {
        var columns: [Column]
        var hasIntervals = true

        /// From everything that the rows have to the least, for ever narrower terminals.
        static func all(for rows: [RowReport]) -> [Layout] {
            let known = Column.allCases.filter { column in rows.contains { column.text($0) != Column.missing } }
            var layout = Layout(columns: known)
            var all = [layout]
            for column in [Column.p999, .missed, .cpu] {
                layout.columns.removeAll { $0 == column }
                all.append(layout)
            }
            layout.hasIntervals = false
            all.append(layout)
            for column in [Column.drift, .p99] {
                layout.columns.removeAll { $0 == column }
                all.append(layout)
            }
            return all
        }
    }

    /// The header and the rows under one load: the widest layout that fits, or else the narrowest.
    private func lines(of rows: [RowReport]) -> [String] {
        let ordered = ordered(rows)
        guard let first = ordered.first?.key else { return [] }
        let tables = Layout.all(for: ordered).lazy
            .map { table(of: ordered, against: first, $0) }
        let fitting = tables.first { $0.width <= width } ?? tables.reversed()[0]
        return [fitting.titles] + fitting.lines
    }

    private func table(of rows: [RowReport], against first: RowKey, _ layout: Layout) -> TextColumns {
        let last = layout.columns.last { $0.isLateness }
        let base = comparesBuilds ? "this build" : first.row
        let columns =
            [TextColumns.Column("")]
            + layout.columns.map { column in
                TextColumns.Column(column == last ? "\(column.rawValue) µs" : column.rawValue, isFlushLeft: false)
            }
            + (rows.count > 1 ? [TextColumns.Column("p50 against \(base)")] : [])
        let cells = rows.map { row in
            [Inked(Self.name(of: row.key), row.problem == nil ? nil : .wrong)]
                + layout.columns.map { Inked($0.text(row)) }
                + (rows.count > 1 ? [comparison(of: row.key, with: first, layout)] : [])
        }
        return TextColumns(columns, cells, inColour: inColour)
    }

    private static func name(of key: RowKey) -> String { key.kind == .reference ? "· \(key.row)" : key.row }

    /// Whether the rows are those of two builds, of which each row has its like in the other.
    private var comparesBuilds: Bool { report.rows.contains { $0.key.row.hasPrefix(RowKey.other) } }

    /// Backends from early to late, then peers, then references. Another build's row follows this build's.
    private func ordered(_ rows: [RowReport]) -> [RowReport] {
        let kinds: [RowKey.Kind] = [.backend, .peer, .reference]
        let ordered = kinds.flatMap { kind in
            rows.filter { $0.key.kind == kind }
                .sorted { $0.corrected.percentile(50) < $1.corrected.percentile(50) }
        }
        guard comparesBuilds else { return ordered }
        return ordered.filter { $0.key.kind == .backend }
            .flatMap { row in [row] + ordered.filter { $0.key.rival == row.key.row } }
    }

    private func comparison(of key: RowKey, with first: RowKey, _ layout: Layout) -> Inked {
        // Another build's row is compared with this build's, and this build's rows with nothing.
        let first = comparesBuilds ? RowKey(row: key.rival ?? key.row, kind: .backend, load: key.load) : first
        guard key != first, let ratio = PairReport(key, first, .p50, in: report.results)?.ratio else {
            return Inked("")
        }
        let isDifferent = ratio.verdict == .later || ratio.verdict == .earlier
        return Inked(layout.hasIntervals ? ratio.words : ratio.shortWords, isDifferent ? nil : .faint)
    }

    // MARK: Around the rows

    /// What was measured, where, and how long: as many of the facts as fit.
    var heading: String {
        let options = report.results.options
        let period = DurationText.spaced(nanoseconds: options.period)
        let count = options.timers == 1 ? "a timer" : "\(options.timers) timers"
        var parts = ["\(count) every \(period)"]
        if options.delivery != HandlerPlace.inline.rawValue { parts[0] += " on \(options.delivery)" }
        if options.clock != "suspending" { parts[0] += " by the \(options.clock) clock" }
        if let missing = report.results.missingLaps { parts.append("PARTIAL: \(missing)") }
        let hosts = report.results.hosts
        parts += hosts.count == 1 ? hosts[0].shortFacts : ["\(hosts.count) hosts"]
        if hosts.contains(where: { $0.build == .debug }) { parts.insert("DEBUG BUILD", at: 1) }
        let seconds = report.results.origins.reduce(0) { $0 + $1.seconds }
        if seconds > 0 { parts.append("\(NumberText.fixed(seconds, places: 0)) s") }
        return parts.dropFirst()
            .reduce(parts[0]) { line, part in
                line.count + part.count + 3 <= width ? "\(line) · \(part)" : line
            }
    }

    private var footer: [String] {
        let rounds = report.results.rounds
        let disturbed = rounds.count { !$0.disturbances.isEmpty }
        let advice =
            !comparesBuilds && Set(report.rows.filter { $0.key.kind == .backend }.map(\.key.row)).count > 1
            ? Recommendation(.init(), from: report).headline + " " : ""
        let calm = disturbed == 0 ? "" : "\(disturbed) of \(rounds.count) rounds disturbed. "
        let asked = report.rows.compactMap { row in row.late.map { (row: row.key, ticks: $0) } }
        let found = asked.filter { $0.ticks.count > 0 }.map { "\($0.row): \($0.ticks.words)." }
        let late = found.isEmpty ? asked.prefix(1).map { "There is \($0.ticks.words)." } : found
        let system = report.results.obtainedOptions.map { "\($0)." }
        let cuts = report.shortenedSpins.map { "\($0)." }
        let remarks = report.results.allRemarks.map { "Note: \($0)." }
        return (late + [advice + calm] + cuts + system + remarks).flatMap { $0.wrapped(at: width) }
    }
}

extension Host {
    /// The processor and the system, in a few words.
    fileprivate var shortFacts: [String] {
        let noise = ["(R)", "(TM)", "CPU", "Processor"]
        let model = cpu.map { cpu in
            cpu.prefix { $0 != "@" }.split(separator: " ").filter { !noise.contains(String($0)) }.joined(separator: " ")
        }
        let processors = hypervisor == true ? "\(processors) vCPU guest" : "\(processors) CPUs"
        let version = kernel.split { !$0.isNumber }.prefix(2).joined(separator: ".")
        return [[model, processors].compactMap(\.self).joined(separator: ", "), "\(system) \(version)"]
    }
}
