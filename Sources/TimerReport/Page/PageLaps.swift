internal import TimerResults

/// The median lateness of every row, lap by lap: whether the rows kept their places during the measurement.
struct PageLaps {
    let report: Report
    let rows: [RowReport]
    let looks: [String: PageLook]

    /// Fewer laps make no line.
    static let fewestLaps = 3

    /// The most points of a line. With more laps, a point is the median of some.
    private static let mostPoints = 200

    /// The chart with its legend; empty without laps.
    var html: String {
        let lines = rows.map { row in (row: row, medians: medians(of: row.key)) }
        let count = lines.map(\.medians.count).max() ?? 0
        guard count > 1 else { return "" }
        let scale = PageScale(lines.flatMap { $0.medians.compactMap(\.self) })
        let step = (count + Self.mostPoints - 1) / Self.mostPoints
        let chart = PageDrawing.chart(
            "Median lateness of every row, lap by lap",
            scale,
            columns: [(0.0, "lap 1"), (100.0, "lap \(count)")].map { PageScale.Mark(place: $0, text: $1) },
            back: shades(count),
            lines: lines.map { line in
                let points = stride(from: 0, to: line.medians.count, by: step)
                    .compactMap { start -> (Double, Double)? in
                        let group = line.medians[start..<min(start + step, line.medians.count)]
                            .compactMap(\.self).sorted()
                        guard !group.isEmpty else { return nil }
                        return (100 * Double(start) / Double(count - 1), scale.place(group[group.count / 2]))
                    }
                return (line.row.key.row, "line " + (looks[line.row.key.row]?.style ?? ""), points)
            }
        )
        let isDisturbed = report.results.rounds.contains { !$0.disturbances.isEmpty }
        let note = isDisturbed ? "<p class=\"axis\">Shaded laps were disturbed; they count all the same.</p>\n" : ""
        return chart + "\n" + note + PageLegend(rows: rows, looks: looks, hasFigures: false).html
    }

    /// A median for each lap; nil if the row has no ticks in the lap.
    private func medians(of key: RowKey) -> [Int64?] {
        report.results.rounds.flatMap { round in
            let known = round[key]?.medians ?? []
            return known + Array(repeating: nil, count: Self.laps(of: round) - known.count)
        }
    }

    /// The laps of which a row has a median. A damaged file may claim any other number.
    private static func laps(of round: Round) -> Int { round.cells.map(\.medians.count).max() ?? 0 }

    /// The disturbed rounds.
    private func shades(_ count: Int) -> String {
        var lap = 0
        return report.results.rounds
            .map { round in
                let laps = Self.laps(of: round)
                defer { lap += laps }
                guard !round.disturbances.isEmpty else { return "" }
                let (x, width) = (100 * Double(lap) / Double(count), 100 * Double(laps) / Double(count))
                return "<rect class=\"shade\" x=\"\(PageDrawing.number(x))%\" y=\"0\" "
                    + "width=\"\(PageDrawing.number(width))%\" height=\"100%\"/>"
            }
            .joined()
    }
}
