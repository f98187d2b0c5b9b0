/// The results as an aligned table, with what was measured above it, and below it what the pairs, the machine and the columns
/// have to say.
package struct ResultTable: CustomStringConvertible {
    private let report: Report
    private let colour: Bool
    private let columns: [ResultColumn]
    private let layout: TableLayout

    /// A table.
    ///
    /// - Parameters:
    ///   - report: what it shows.
    ///   - colour: whether what matters stands out by colour, which only a terminal understands.
    package init(_ report: Report, colour: Bool = false) {
        self.report = report
        self.colour = colour
        let spread = LatenessBins(report.rows).map { [ResultColumn.spread($0)] } ?? []
        let columns = [ResultColumn.name] + ResultColumn.all(for: report) + spread
        self.columns = columns
        layout = TableLayout(columns, for: report.rows.map { row in columns.map { $0.text(row) } })
    }

    /// All of it, without a line end at its end.
    package var description: String {
        let notes = Notes(report)
        let parts = [
            [shown(notes.heading, .strong)] + notes.hosts,
            layout.header + body,
            PairLines(report).lines(colour: colour),
            notes.remarks + notes.disturbances,
            legend,
        ]
        return parts.filter { !$0.isEmpty }.map { $0.joined(separator: "\n") }.joined(separator: "\n\n")
    }

    /// The rows, in a block for each load where there are several.
    private var body: [String] {
        var loads: [String] = []
        for row in report.rows where !loads.contains(row.case.load) { loads.append(row.case.load) }
        let needTitles = loads.count > 1 || loads.contains { $0 != Case.idle }
        return loads.enumerated()
            .flatMap { number, load in
                let rows = report.rows.filter { $0.case.load == load }
                let title = needTitles ? (number > 0 ? [""] : []) + [shown("load \(load)", .strong)] : []
                return title + lines(of: rows)
            }
    }

    /// The rows of one load, with a thin line between those of one kind and those of the next.
    private func lines(of rows: [RowReport]) -> [String] {
        let winners = columns.map { least(of: rows, in: $0) }
        let faulty = Set(
            report.results.rounds.flatMap { round in round.cells.filter { $0.fault != nil }.map(\.case) }
        )
        return rows.enumerated()
            .flatMap { number, row in
                let cells = columns.enumerated()
                    .map { position, column in
                        let isWrong =
                            position == 0 && faulty.contains(row.case) || column.title == "early" && row.early > 0
                        let ink: Ink? =
                            if isWrong {
                                .wrong
                            } else if row.case.kind == .reference {
                                .faint
                            } else {
                                winners[position] == column.text(row) ? .best : nil
                            }
                        return Inked(column.text(row), ink)
                    }
                let isNewKind = number > 0 && rows[number - 1].case.kind != row.case.kind
                return (isNewKind ? [shown(layout.rule, .faint)] : []) + [layout.line(cells, colour: colour)]
            }
    }

    /// The least of a column, as it is shown; nil where that is shown for all. References are no rivals.
    private func least(of rows: [RowReport], in column: ResultColumn) -> String? {
        guard let rivalry = column.rivalry else { return nil }
        let rivals = rows.filter { $0.case.kind != .reference }
        let values = rivals.compactMap { row in rivalry(row).map { (value: $0, text: column.text(row)) } }
        guard let least = values.min(by: { $0.value < $1.value })?.text, values.contains(where: { $0.text != least })
        else { return nil }
        return least
    }

    /// What the columns mean, a line for each.
    private var legend: [String] {
        let explained = columns.compactMap { column in
            column.about.map { (term: column.term, about: $0) }
        }
        let terms = explained + Self.kinds(in: report)
        let width = terms.map(\.term.count).max() ?? 0
        return terms.map { term, about in
            let padded = Inked(term, .strong).padded(to: width + 2, flushLeft: true, colour: colour)
            return padded + about
        }
    }

    /// What the names of some rows begin with.
    private static func kinds(in report: Report) -> [(term: String, about: String)] {
        let kinds = Set(report.rows.map(\.case.kind))
        let peers = ("peer-…", "what one would write without the library")
        let floors = ("floor-…", "references without the library: bare loops of clock_nanosleep and of timerfd")
        let hasReferee = report.rows.contains { $0.case.row == Cyclictest.name }
        let referee = (Cyclictest.name, "the program of rt-tests, measured from outside; its price has its start in it")
        return (kinds.contains(.peer) ? [peers] : []) + (kinds.contains(.reference) ? [floors] : [])
            + (hasReferee ? [referee] : [])
    }

    private func shown(_ text: String, _ ink: Ink) -> String { colour ? ink.on(text) : text }
}

extension ResultColumn {
    /// What the legend calls it.
    fileprivate var term: String {
        switch (group, title) {
        case ("lateness (µs)", "p50"): "p50 … p99.9"
        case ("× floor", _): "× floor"
        case ("count", _), ("lateness (µs)", _), ("price", _), ("p50 of (µs)", _): title
        default: group
        }
    }
}
