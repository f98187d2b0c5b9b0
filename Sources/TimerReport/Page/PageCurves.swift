internal import TimerResults

/// The percentiles of every row under one load, as curves.
struct PageCurves {
    let rows: [RowReport]
    let looks: [String: PageLook]

    /// A deadline in ten, in a hundred, and so on is later: 1 is 90 %, 2 is 99 %. A tenth of it from point to point.
    private static let grid = (0...70).map { Double($0) / 10 }

    /// The deadlines beyond the last point of a curve: fewer are chance.
    private static let fewest = 10.0

    /// The chart with its legend, which has the curves' figures.
    var html: String {
        let curves = rows.map { (row: $0, points: Self.points(of: $0.corrected)) }
        let end = curves.compactMap { $0.points.last?.nines }.max() ?? 0
        guard end > 0 else { return "<p>No row has enough ticks for a curve.</p>" }
        let scale = PageScale(curves.flatMap { $0.points.map(\.lateness) })
        let columns = [(0.30103, "50 %"), (1, "90 %"), (2, "99 %"), (3, "99.9 %"), (4, "99.99 %"), (5, "99.999 %")]
            .filter { $0.0 <= end }
            .map { PageScale.Mark(place: 100 * $0.0 / end, text: $0.1) }
        let lines = curves.map { curve in
            (
                name: curve.row.key.row, style: "line " + (looks[curve.row.key.row]?.style ?? ""),
                points: curve.points.map { (100 * $0.nines / end, scale.place($0.lateness)) }
            )
        }
        return PageDrawing.chart("Percentiles of the lateness of every row", scale, columns: columns, lines: lines)
            + """

            <p class="axis">Share of the deadlines that were served within the time on the left</p>
            \(PageLegend(rows: rows, looks: looks, hasFigures: true).html)
            """
    }

    private static func points(of distribution: Distribution) -> [(nines: Double, lateness: Int64)] {
        let reach = Double(distribution.moments.count) / fewest
        return grid.map { (nines: $0, share: 1 / power($0)) }.filter { $0.share * reach >= 1 }
            .map { ($0.nines, distribution.percentile(100 * (1 - $0.share))) }
    }

    /// A power of ten in tenths, without a C library: from the tenth root of ten to 17 digits. Whole powers are exact.
    private static func power(_ nines: Double) -> Double {
        let tenths = Int((nines * 10).rounded())
        let whole = (0..<tenths / 10).reduce(1.0) { power, _ in power * 10 }
        return (0..<tenths % 10).reduce(whole) { power, _ in power * 1.258925411794167210 }
    }
}

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

/// The names of the lines of a chart, each with a box that shows or hides the line, and with percentiles if wanted.
struct PageLegend {
    let rows: [RowReport]
    let looks: [String: PageLook]
    let hasFigures: Bool

    /// The percentiles, and the fewest deadlines that have them.
    private static let percentiles = [(50.0, 1), (90, 10), (99, 100), (99.9, 1000)]

    var html: String {
        let titles = hasFigures ? ["p50", "p90", "p99", "p99.9"] : []
        let lines = rows.map { row in
            let (name, lateness) = (PageText.escaped(row.key.row), row.corrected)
            let figures = Self.percentiles.map { percent, fewest in
                lateness.moments.count < fewest ? "–" : PageText.time(lateness.percentile(percent))
            }
            // Of the references, only the floor is shown at first.
            let isShown = row.key.kind != .reference || row.key == row.key.floor
            let look = looks[row.key.row]?.style ?? ""
            return """
                <tr class="\(look)"><th scope="row"><label>\
                <input type="checkbox" data-show="\(name)"\(isShown ? " checked" : "")>\
                <svg class="sample" aria-hidden="true"><line class="line" x1="0" x2="100%" y1="50%" y2="50%"/></svg>\
                \(name)</label></th>\((hasFigures ? figures : []).map { "<td>\($0)</td>" }.joined())</tr>
                """
        }
        let head = titles.map { "<th scope=\"col\">\($0)</th>" }.joined()
        return """
            <table class="legend\(hasFigures ? "" : " names")" aria-label="Lines of the chart">\
            \(titles.isEmpty ? "" : "<thead><tr><td></td>\(head)</tr></thead>")<tbody>
            \(lines.joined(separator: "\n"))
            </tbody></table>
            """
    }
}
