internal import TimerResults

/// The picture of one load that answers first: a line for each row, from p50 to p99, with its figures and its price.
///
/// It is a table whose first column of cells is drawn, so it can be read aloud, searched and printed.
struct PagePicture {
    let rows: [RowReport]
    /// The names of the rows to stress.
    let choices: Set<String>
    let looks: [String: PageLook]
    let label: String

    var html: String {
        let ticking = rows.filter { $0.ticks > 0 }
        let scale = PageScale(ticking.map { $0.corrected.percentile(50) } + ticking.compactMap(\.p99))
        let highest = rows.compactMap(\.cpuPercent).max() ?? 0
        let hasMissed = rows.contains { ($0.missedShare ?? 0) >= 0.0005 }
        let titles = ["p50", "p99"] + (hasMissed ? ["missed"] : []) + ["CPU"]
        let lines = rows.map { row in
            let missed = row.missedShare.map { "\(PageText.number(100 * $0)) %" } ?? "–"
            let figures =
                [row.ticks == 0 ? "–" : PageText.time(row.corrected.percentile(50)), row.p99.map(PageText.time) ?? "–"]
                + (hasMissed ? [missed] : [])
            let name = PageText.escaped(row.key.row)
            return """
                <tr class="\(look(row))\(row.problem == nil ? "" : " wrong")" data-row="\(name)">\
                <th scope="row">\(name)</th><td class="lane">\(lane(row, on: scale))</td>\
                \(figures.map { "<td>\($0)</td>" }.joined())\(price(row, highest))</tr>
                """
        }
        return """
            <table class="picture\(hasMissed ? " with-missed" : "")" aria-label="\(PageText.escaped(label))">
            <thead><tr><td></td><td class="lane">\(axis(scale))</td>\
            \(titles.map { "<th scope=\"col\">\($0)</th>" }.joined())</tr></thead>
            <tbody>
            \(lines.joined(separator: "\n"))
            </tbody></table>
            """
    }

    private func look(_ row: RowReport) -> String {
        let isChosen = row.key.kind == .backend && choices.contains(row.key.row)
        return (looks[row.key.row]?.style ?? "") + (isChosen ? " chosen" : "")
    }

    /// The line from the dot at p50 to the bar at p99.
    private func lane(_ row: RowReport, on scale: PageScale) -> String {
        let grid = scale.marks.map { PageDrawing.line(x: Self.inset($0.place), style: "grid") }.joined()
        guard row.ticks > 0 else { return "<svg>\(grid)<text y=\"50%\" dy=\"4\">no ticks</text></svg>" }
        let start = Self.inset(scale.place(row.corrected.percentile(50)))
        let tail = row.p99.map { p99 in
            let end = Self.inset(scale.place(p99))
            return "<line class=\"span\" x1=\"\(start)%\" x2=\"\(end)%\" y1=\"50%\" y2=\"50%\"/>"
                + "<line class=\"end\" x1=\"\(end)%\" x2=\"\(end)%\" y1=\"30%\" y2=\"70%\"/>"
        }
        let dot = "<circle class=\"dot\" cx=\"\(start)%\" cy=\"50%\" r=\"5\"/>"
        return "<svg aria-hidden=\"true\">\(grid)\(tail ?? "")\(dot)</svg>"
    }

    private func axis(_ scale: PageScale) -> String {
        let marks = scale.marks.map { mark in
            let place = Self.inset(mark.place)
            let anchor = mark.place < 6 ? "start" : mark.place > 94 ? "end" : "middle"
            return "<text x=\"\(place)%\" y=\"100%\" dy=\"-6\" text-anchor=\"\(anchor)\">\(mark.text)</text>"
        }
        return "<svg aria-hidden=\"true\">\(marks.joined())</svg>"
    }

    /// A place of the axis in percent of the picture, which leaves room for half a dot.
    private static func inset(_ place: Double) -> String { PageDrawing.number(2 + 0.96 * place) }

    /// Percent of a processor, as a number and as a bar.
    private func price(_ row: RowReport, _ highest: Double) -> String {
        guard let cpu = row.cpuPercent else { return "<td class=\"price\">–</td>" }
        return "<td class=\"price\">\(PageText.number(cpu)) %\(PageDrawing.bar(highest > 0 ? cpu / highest : 0))</td>"
    }
}
