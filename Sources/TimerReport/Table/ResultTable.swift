internal import Foundation
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

/// Bins of lateness for all rows of a table. Each bin is wider than the last by the same factor.
struct LatenessBins: Hashable, Sendable {
    static let count = 10
    /// Nanoseconds. Smaller differences between timers mean nothing.
    private static let finest: UInt64 = 100

    /// The start of the first bin, in nanoseconds. The first bin counts smaller values, too.
    let low: UInt64
    /// The end of the last bin, in nanoseconds.
    let high: UInt64

    /// Bins for all latenesses of the rows, from one round number to another; nil without ticks.
    init?(_ rows: [RowReport]) {
        let buckets = rows.map(\.lateness.buckets)
        guard let least = buckets.compactMap({ $0.first?.value }).min(),
            let greatest = buckets.compactMap({ $0.last?.value }).max()
        else { return nil }
        var (low, high) = (Self.finest, Self.finest)
        for step in Self.roundNumbers {
            if step <= least { low = max(low, step) }
            high = step
            if step > max(greatest, low) { break }
        }
        self.low = low
        self.high = high
    }

    /// 100, 200, 500, 1000 and so on, to beyond the greatest lateness of a distribution.
    private static let roundNumbers: [UInt64] = {
        var numbers: [UInt64] = []
        var decade = finest
        while decade <= Distribution.greatest {
            numbers += [decade, 2 * decade, 5 * decade]
            decade *= 10
        }
        return numbers
    }()

    /// The start and the end of the bins.
    var range: String {
        "\(DurationText.format(nanoseconds: low))–\(DurationText.format(nanoseconds: high))"
    }

    /// A bar for each bin, scaled to the fullest bin. An empty bin has no bar; one value is enough for the lowest bar.
    func bars(_ distribution: Distribution) -> String {
        var counts = [UInt64](repeating: 0, count: Self.count)
        for bucket in distribution.buckets { counts[bin(of: bucket.value)] += bucket.count }
        guard let fullest = counts.max(), fullest > 0 else { return "" }
        let bars = Array("▁▂▃▄▅▆▇█")
        let text = counts.map { count -> Character in
            guard count > 0 else { return " " }
            let height = (Double(count) / Double(fullest) * Double(bars.count)).rounded(.up)
            return bars[min(bars.count, Int(height)) - 1]
        }
        return String(text.reversed().drop { $0 == " " }.reversed())
    }

    private func bin(of value: UInt64) -> Int {
        guard value > low else { return 0 }
        let share = log(Double(value) / Double(low)) / log(Double(high) / Double(low))
        return min(Self.count - 1, Int(share * Double(Self.count)))
    }
}
