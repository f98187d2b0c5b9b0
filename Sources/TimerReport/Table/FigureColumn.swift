internal import TimerResults

/// A figure in one of its columns.
struct FigureColumn: Sendable {
    let figure: Figure
    let column: Figure.Column

    /// The columns of a place that a report needs. Columns of one group stand together, at the place of the first.
    static func all(_ place: Figure.Column.Place, for report: Report) -> [FigureColumn] {
        let all = Figure.all.flatMap { figure in
            figure.columns.filter { $0.place == place && $0.isShown(report) }
                .map { FigureColumn(figure: figure, column: $0) }
        }
        var groups: [String] = []
        for column in all where !groups.contains(column.column.group) { groups.append(column.column.group) }
        return groups.flatMap { group in all.filter { $0.column.group == group } }
    }

    func text(_ row: RowReport) -> String { column.text?(row) ?? figure.cell(row) }

    func isAlarming(_ row: RowReport) -> Bool { column.isAlarming && figure(row) ?? 0 > 0 }

    /// The least value of some rows, as shown; nil if all rows show the same, or if less is not better.
    func best(of rows: [RowReport]) -> String? {
        guard figure.unit != .count, figure.unit != .partsPerMillion else { return nil }
        let values = rows.compactMap { row in figure(row).map { (value: $0, text: text(row)) } }
        guard let best = values.min(by: { $0.value < $1.value })?.text, values.contains(where: { $0.text != best })
        else { return nil }
        return best
    }
}
