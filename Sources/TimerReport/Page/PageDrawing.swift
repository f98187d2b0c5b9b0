internal import TimerResults

/// Pieces of SVG whose widths are shares of the page, so that no script has to draw them anew.
enum PageDrawing {
    /// A number for an attribute.
    static func number(_ value: Double) -> String { NumberText.fixed(value, places: 1) }

    /// A line from the top to the bottom, at so many percent.
    static func line(x place: String, style: String) -> String {
        "<line class=\"\(style)\" x1=\"\(place)%\" x2=\"\(place)%\" y1=\"0\" y2=\"100%\"/>"
    }

    /// A bar for a share, 0 to 1.
    static func bar(_ share: Double) -> String {
        "<svg class=\"bar\" aria-hidden=\"true\"><rect width=\"\(number(100 * share))%\" height=\"100%\"/></svg>"
    }

    /// A chart of lines. Its grid and text keep their size, only the lines are stretched.
    ///
    /// - Parameters:
    ///   - label: the meaning of the chart.
    ///   - scale: the axis from the bottom to the top.
    ///   - columns: places from left to right, in percent, with their text.
    ///   - back: what lies behind the lines.
    ///   - lines: for each row its name, its style, and points in percent, from the left and from the bottom.
    /// - Returns: the SVG.
    static func chart(
        _ label: String,
        _ scale: PageScale,
        columns: [PageScale.Mark],
        back: String = "",
        lines: [(name: String, style: String, points: [(Double, Double)])]
    ) -> String {
        let rows = scale.marks.map { mark in
            let y = number(100 - mark.place)
            return "<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"\(y)%\" y2=\"\(y)%\"/>"
                + "<text x=\"-8\" y=\"\(y)%\" dy=\"4\" text-anchor=\"end\">\(mark.text)</text>"
        }
        let places = columns.map { mark in
            line(x: number(mark.place), style: "grid")
                + "<text x=\"\(number(mark.place))%\" y=\"100%\" dy=\"18\" text-anchor=\"middle\">\(mark.text)</text>"
        }
        let paths = lines.filter { !$0.points.isEmpty }
            .map { line in
                let points = line.points.map { "\(number(10 * $0)) \(number(1000 - 10 * $1))" }.joined(separator: "L")
                let name = PageText.escaped(line.name)
                return "<path class=\"\(line.style)\" data-row=\"\(name)\" d=\"M\(points)\">"
                    + "<title>\(name)</title></path>"
            }
        return """
            <svg class="chart" role="img" aria-label="\(PageText.escaped(label))">
            \(back)\(rows.joined())\(places.joined())
            <svg viewBox="0 0 1000 1000" preserveAspectRatio="none" width="100%" height="100%">
            \(paths.joined(separator: "\n"))
            </svg></svg>
            """
    }
}
