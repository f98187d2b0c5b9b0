package import TimerResults

/// The results as an aligned table for a terminal: above it what was measured, below it pairs and remarks.
package struct ResultTable: CustomStringConvertible {
    private let report: Report
    private let inColour: Bool
    private let columns: [FigureColumn]
    private let bins: LatenessBins?

    /// A table of a report. Only a terminal understands colour.
    package init(_ report: Report, inColour: Bool = false) {
        self.report = report
        self.inColour = inColour
        columns = FigureColumn.all(.table, for: report)
        bins = LatenessBins(report.rows)
    }

    /// The whole table, without a line end at its end.
    package var description: String {
        let notes = Notes(report)
        let parts = [
            [strong(notes.heading)] + notes.hosts,
            table,
            PairLines(report).lines(inColour: inColour),
            notes.remarks + notes.disturbances,
        ]
        return parts.filter { !$0.isEmpty }.map { $0.joined(separator: "\n") }.joined(separator: "\n\n")
    }

    /// The header and the rows: a block for each load, and a thin line between two kinds of rows.
    private var table: [String] {
        let loads = report.rows.map(\.key.load).reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
        let rows = loads.flatMap { load in report.rows.filter { $0.key.load == load } }
        let best = Dictionary(
            uniqueKeysWithValues: loads.map { load in
                let rivals = rows.filter { $0.key.load == load && $0.key.kind != .reference }
                return (load, columns.map { $0.best(of: rivals) })
            }
        )
        let layout = TextColumns(
            [TextColumns.Column("row")]
                + columns.map { TextColumns.Column($0.column.title, group: $0.column.group, isFlushLeft: false) }
                + (bins.map { [TextColumns.Column($0.range, group: "spread")] } ?? []),
            rows.map { cells(of: $0, best: best[$0.key.load] ?? []) },
            inColour: inColour
        )
        let needTitles = loads.count > 1 || loads.contains { $0 != RowKey.idle }
        var lines = [layout.groupNames, layout.titles]
        for (number, line) in layout.lines.enumerated() {
            let key = rows[number].key
            let last = number > 0 ? rows[number - 1].key : nil
            if needTitles, last?.load != key.load {
                lines += (last == nil ? [] : [""]) + [strong("load \(key.load)")]
            } else if let last, last.kind != key.kind {
                lines.append(layout.rule.shown(inColour: inColour))
            }
            lines.append(line)
        }
        return lines
    }

    private func cells(of row: RowReport, best: [String?]) -> [Inked] {
        let faint: Ink? = row.key.kind == .reference ? .faint : nil
        let figures = zip(columns, best)
            .map { column, best in
                let text = column.text(row)
                return Inked(text, column.isAlarming(row) ? .wrong : faint ?? (text == best ? .best : nil))
            }
        return [Inked(row.key.row, row.problem == nil ? faint : .wrong)] + figures
            + (bins.map { [Inked($0.bars(row.lateness), faint)] } ?? [])
    }

    /// The meaning of the columns and of the rows' names.
    package var legend: String {
        let explained = columns.compactMap { column in column.column.about.map { [column.term, $0] } }
        let spread = bins.map { bins in
            [
                "spread",
                "ticks by lateness: \(LatenessBins.count) bins of \(bins.range), each wider by one factor, scaled to "
                    + "the fullest bin",
            ]
        }
        let kinds = Set(report.rows.map(\.key.kind))
        let names = [
            kinds.contains(.peer) ? ["peer-…", "the same work written without the library"] : nil,
            kinds.contains(.reference)
                ? ["floor-…", "references without the library: bare loops of clock_nanosleep and of timerfd"] : nil,
            report.rows.contains { $0.key.row == RowKey.cyclictest }
                ? [RowKey.cyclictest, "the program of rt-tests, measured from outside; its cost includes its start-up"]
                : nil,
        ]
        let terms = explained + ([spread] + names).compactMap(\.self)
        let cells = terms.map { [Inked($0[0], .strong), Inked($0[1])] }
        let columns = [TextColumns.Column(), TextColumns.Column()]
        return TextColumns(columns, cells, inColour: inColour).lines.joined(separator: "\n")
    }

    private func strong(_ text: String) -> String { Inked(text, .strong).shown(inColour: inColour) }
}

extension FigureColumn {
    /// The column's name in the legend.
    fileprivate var term: String {
        switch (column.group, column.title) {
        case ("lateness (µs)", "p50"): "p50 … p99.9"
        case ("× floor", _): "× floor"
        case ("count", _), ("lateness (µs)", _), ("price", _), ("p50 of (µs)", _): column.title
        default: column.group
        }
    }
}
