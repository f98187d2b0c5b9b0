internal import Foundation
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

/// A logarithmic axis of lateness, from one round number to another.
struct PageScale: Hashable, Sendable {
    /// A line across the picture.
    struct Mark: Hashable, Sendable {
        /// Percent of the axis.
        let place: Double
        let text: String
    }

    private let low: Double
    private let high: Double

    /// Nanoseconds. The logarithm of nothing has no place, and smaller differences between timers mean nothing.
    private static let least = 100.0

    /// The most lines that a narrow picture has room for.
    private static let mostMarks = 6
    /// The most powers of ten, whose texts are longer.
    private static let mostDecades = 5

    /// An axis that has room for all values, in nanoseconds.
    init(_ values: [Int64]) {
        let values = values.map { max(Double($0), Self.least) }
        let (least, greatest) = (values.min() ?? Self.least, values.max() ?? Self.least)
        low = Self.roundNumbers.last { $0 <= least } ?? Self.least
        let bound = max(greatest, low.nextUp)
        high = Self.roundNumbers.first { $0 >= bound } ?? bound
    }

    /// 100 ns, 200 ns, 500 ns, 1 µs and so on, to 5,000 s.
    private static let roundNumbers: [Double] = {
        var decades = [least]
        while decades.count < 11 { decades.append(decades[decades.count - 1] * 10) }
        return decades.flatMap { [$0, 2 * $0, 5 * $0] }
    }()

    /// The place of a value, in percent of the axis.
    func place(_ nanoseconds: Int64) -> Double {
        let value = min(max(Double(nanoseconds), low), high)
        return 100 * log(value / low) / log(high / low)
    }

    /// All round numbers. If there is no room for them, only powers of ten, or every second of these, and the ends if
    /// they are far from the rest.
    var marks: [Mark] {
        let all = Self.roundNumbers.filter { (low...high).contains($0) }
        var shown = all.filter { log10($0).rounded() == log10($0) }
        if all.count <= Self.mostMarks {
            shown = all
        } else if shown.count == 2 {
            let ends = [low].filter { $0 * 4 < shown[0] } + [high].filter { $0 > shown[1] * 4 }
            shown = all.filter { (shown + ends).contains($0) }
        } else {
            let step = (shown.count + Self.mostDecades - 1) / Self.mostDecades
            shown = stride(from: 0, to: shown.count, by: max(step, 1)).map { shown[$0] }
        }
        return shown.map { Mark(place: place(Int64($0)), text: DurationText.spaced(nanoseconds: UInt64($0))) }
    }
}

/// How a row is drawn: in the same colour and dash in every picture.
///
/// Kinds differ by dash, which the colour-blind can see, too. A peer has the colour of the backend that it is compared
/// with, and a reference is grey.
struct PageLook: Hashable, Sendable {
    /// The number of colours without grey.
    static let hues = 8

    /// The classes of the style sheet.
    let style: String

    /// The looks of all rows of a report, by name.
    static func of(_ report: Report) -> [String: PageLook] {
        var kinds: [(name: String, kind: RowKey.Kind)] = []
        for key in report.rows.map(\.key) where !kinds.contains(where: { $0.name == key.row }) {
            kinds.append((key.row, key.kind))
        }
        let backends = kinds.filter { $0.kind == .backend }.map(\.name)
        var next = backends.count
        var used: [String: Int] = [:]
        return kinds.reduce(into: [:]) { looks, row in
            var colour = "grey"
            if row.kind != .reference {
                let rival = RowKey(row: row.name, kind: row.kind, load: RowKey.idle).rival
                var hue = backends.firstIndex(of: row.kind == .peer ? rival ?? "" : row.name)
                if hue == nil {
                    hue = next
                    next += 1
                }
                colour = "hue\((hue ?? 0) % hues)"
            }
            let place = used[row.kind.rawValue + colour, default: 0]
            used[row.kind.rawValue + colour] = place + 1
            looks[row.name] = PageLook(style: "\(row.kind.rawValue) \(colour)\(place % 2 == 1 ? " other" : "")")
        }
    }
}
