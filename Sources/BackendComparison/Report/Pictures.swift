internal import Foundation

/// A round value of an axis, and its place from 0 to 1.
private typealias Label = (text: String, place: Double)

/// The first picture: how the deadlines of each row spread, with its p50, p99 and worst.
struct SpreadPicture {
    private let axis: LatenessAxis

    private static let bins = 120

    /// All tables of a page have one axis.
    init(_ rows: [RowReport]) {
        let known = rows.filter { $0.p50 != nil }
        let lows = known.flatMap { [$0.p50.map { $0.value / 3 }, $0.p99?.interval?.lowerBound] }.compactMap(\.self)
        axis = LatenessAxis(
            from: (lows.filter { $0 > 0 } + [1e5]).min() ?? 1e5,
            to: known.compactMap(\.worst).max() ?? 0
        )
    }

    var head: Markup { .head("lateness of all deadlines, logarithmic", axis.labels(atMost: 8)) }

    /// Without a p50 there is nothing but the ground.
    func lane(_ row: RowReport) -> Markup {
        let columns = RowColumn.percentiles.filter { ["p50", "p99", "worst"].contains($0.title) }
        let marks = Self.marks(
            p50: row.p50.map { x($0.value) },
            p99: row.p99.map { x($0.value) },
            range: row.p99?.interval.map { (x($0.lowerBound), x($0.upperBound)) },
            worst: row.worst.map { x($0) }
        )
        return .lane(
            "\(row.key.row): " + columns.map { "\($0.title) \($0.text(row))" }.joined(separator: ", "),
            height: 44,
            grid: axis.labels(atMost: 8),
            [("ground", "M0,34h1000"), ("shape", row.p50.map { _ in shape(row.row.lateness) })] + marks
        )
    }

    private func x(_ nanoseconds: Double) -> String { (1_000 * axis.place(nanoseconds)).tenths }

    /// The share of the deadlines in equal steps of the axis, smoothed over neighbours. Its root shows the tails.
    private func shape(_ lateness: SparseHistogram) -> String {
        var bins = [Double](repeating: 0, count: Self.bins + 2)
        for bucket in lateness.buckets {
            bins[1 + min(Int(Double(Self.bins) * axis.place(bucket.middle)), Self.bins - 1)] += Double(bucket.count)
        }
        let smooth = (1...Self.bins).map { (bins[$0 - 1] + 2 * bins[$0] + bins[$0 + 1]) as Double }
        let (most, width) = (smooth.max() ?? 1, 1_000 / Double(Self.bins))
        let points = smooth.enumerated()
            .map { "L\(((Double($0) + 0.5) * width).tenths),\((34 - 29 * ($1 / most).squareRoot()).tenths)" }
        return "M0,34\(points.joined())L1000,34Z"
    }

    /// The marks on the ground, as the legend has them.
    private static func marks(
        p50: String? = nil,
        p99: String? = nil,
        range: (low: String, high: String)? = nil,
        worst: String? = nil
    ) -> [Markup.Path] {
        func dot(_ x: String) -> String { "M\(x),34h0" }
        return [
            ("range", range.map { "M\($0.low),34H\($0.high)" }),
            ("cap", range.map { "M\($0.low),30v8M\($0.high),30v8" }),
            ("worst", worst.map(dot)), ("hole", worst.map(dot)), ("p99", p99.map { "M\($0),26v16" }),
            ("halo", p50.map(dot)), ("p50", p50.map(dot)),
        ]
    }

    static var legend: Markup {
        let hill = [("shape", "M0,42C10,42 9,24 13,24S18,42 30,42Z")] as [Markup.Path]
        let samples = [
            ("share of deadlines (square-root scale, each row on its own)", hill), ("p50", marks(p50: "15")),
            ("p99 and its range", marks(p99: "18", range: ("2", "28"))), ("worst", marks(worst: "15")),
        ]
        let parts = samples.map { Markup("span", [.picture(in: "0 19 30 30", $1), Markup(text: $0)]) }
        return Markup("p", ["class": "legend"], parts)
    }
}

/// The second picture: the lateness of each row over the time of its long stretch.
struct StretchPicture {
    private let axis: LatenessAxis
    /// Nanoseconds of the longest stretch.
    private let end: UInt64

    private static let height = 72

    static let reading =
        "The line is the median of the ticks in each small part of the stretch, and bars go up to the latest of them. "
        + "A line that climbs is a drift (a steady one flattens on this axis), a spike is a stall, and a step that all "
        + "rows have is the machine’s mood."

    /// All rows of a load have the same axes.
    init(_ series: [LatenessSeries]) {
        let (medians, maxima) = (series.flatMap(\.medians), series.flatMap(\.maxima))
        axis = LatenessAxis(
            from: Double(medians.compactMap(\.self).min() ?? 0),
            to: Double(maxima.compactMap(\.self).max() ?? 0)
        )
        end = series.map { $0.step * UInt64($0.medians.count) }.max() ?? 1
    }

    var head: Markup { .head("lateness, logarithmic, by time", times) }

    /// A line through the medians, and a bar from each to the greatest lateness of its step.
    func lane(_ name: String, _ series: LatenessSeries) -> Markup {
        let steps = zip(series.medians, series.maxima).enumerated()
            .compactMap { place, step -> (point: String, median: Int64, most: Int64)? in
                guard let median = step.0, let most = step.1 else { return nil }
                let x = 1_000 * (Double(place) + 0.5) * Double(series.step) / Double(end)
                return ("\(x.tenths),\(y(axis.place(Double(median))).tenths)", median, most)
            }
        let figures = [
            ("first", steps.first?.median), ("last", steps.last?.median), ("worst", steps.map(\.most).max()),
        ]
        let levels = axis.labels(atMost: 4).map { (text: $0.text, y: y($0.place)) }
        return .lane(
            "\(name): " + figures.map { "\($0) \(NumberText.time(Double($1 ?? 0)))" }.joined(separator: ", "),
            height: Self.height,
            grid: times,
            [
                ("grid", levels.map { "M0,\($0.y.tenths)h1000" }.joined()),
                ("most", steps.map { "M\($0.point)V\(y(axis.place(Double($0.most))).tenths)" }.joined()),
                // One point alone is a dot.
                ("median", "M\(steps.map(\.point).joined(separator: "L"))h0"),
            ],
            labels: levels.map { Markup("text", ["x": "-8", "y": ($0.y + 4).tenths], text: $0.text) }
        )
    }

    private func y(_ place: Double) -> Double { Double(Self.height) * (1 - place) }

    /// At most seven.
    private var times: [Label] {
        let step: UInt64 = (0..<60).lazy.map(LatenessAxis.round).first { end / $0 <= 6 } ?? end
        return (0...end / step)
            .map { (number: UInt64) -> Label in
                let time: UInt64 = number * step
                return (DurationText.spaced(nanoseconds: time), Double(time) / Double(end))
            }
    }
}

/// A logarithmic axis of latenesses, in nanoseconds.
private struct LatenessAxis {
    private let low: Double
    private let high: Double

    /// It has at least one power of ten.
    init(from low: Double, to high: Double) {
        self.low = log10(max(low, 0.1))
        self.high = max(log10(max(high, 0.1)), self.low + 1)
    }

    /// The place of a lateness, from 0 to 1. A mark at either end has room.
    func place(_ nanoseconds: Double) -> Double {
        min(max(0.03 + 0.94 * (log10(max(nanoseconds, 1e-9)) - low) / (high - low), 0), 1)
    }

    /// As many as there is room for, and none too near to an end.
    func labels(atMost most: Int) -> [Label] {
        [1, 3, 6, 9].map { stride(from: 0, to: 42, by: $0).map(Self.round) }
            .map { values in
                values.map { (Self.text($0), place(Double($0))) }.filter { (0.04...0.96).contains($0.1) }
            }
            .first { $0.count <= most } ?? []
    }

    private static func text(_ nanoseconds: UInt64) -> String {
        nanoseconds < 1_000 ? "\(Double(nanoseconds) / 1_000) µs" : DurationText.spaced(nanoseconds: nanoseconds)
    }

    /// 1, 2, 5, 10, 20, 50 and so on.
    static func round(_ place: Int) -> UInt64 {
        (0..<place / 3).reduce([1, 2, 5][place % 3]) { value, _ in 10 * value }
    }
}

extension Markup {
    /// The class of some lines, and the lines; nil for none.
    fileprivate typealias Path = (kind: String, lines: String?)

    /// SVG, with words for those who cannot see it. Its paths are stretched from the box to the size that the style
    /// gives, and its labels are not. Without a style it has no size.
    fileprivate static func picture(
        _ words: String? = nil,
        in box: String,
        _ paths: [Path],
        labels: [Markup] = []
    ) -> Markup {
        let lines = paths.compactMap { path in path.lines.map { Markup("path", ["class": path.kind, "d": $0]) } }
        let (role, isHidden) = words == nil ? (nil, "true") : ("img", nil)
        return Markup(
            "svg",
            ["role": role, "aria-label": words, "aria-hidden": isHidden, "width": "0", "height": "0"],
            [Markup("svg", ["viewBox": box, "preserveAspectRatio": "none"], lines)] + labels
        )
    }

    fileprivate static func lane(
        _ words: String,
        height: Int,
        grid: [Label],
        _ paths: [Path],
        labels: [Markup] = []
    ) -> Markup {
        let lines = grid.map { "M\((1_000 * $0.place).tenths),0v\(height)" }.joined()
        let picture = picture(words, in: "0 0 1000 \(height)", [("grid", lines)] + paths, labels: labels)
        return Markup("td", ["class": "lane"], [picture])
    }

    /// The title of the lanes, with the labels of their grid.
    fileprivate static func head(_ title: String, _ grid: [Label]) -> Markup {
        let labels = grid.map { Markup("text", ["x": "\((100 * $0.place).tenths)%", "y": "12"], text: $0.text) }
        let picture = Markup("svg", ["aria-hidden": "true", "width": "0", "height": "0"], labels)
        return Markup("th", ["scope": "col", "class": "lane"], [Markup("span", text: title), picture])
    }
}

extension Double {
    /// With one decimal.
    fileprivate var tenths: String { NumberText.fixed(self, places: 1) }
}
