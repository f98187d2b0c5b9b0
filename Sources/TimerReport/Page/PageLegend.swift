internal import TimerResults

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
