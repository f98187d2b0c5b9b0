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
