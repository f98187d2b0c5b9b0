/// One number of a row, with its name and place in every output. ``all`` lists every figure.
package struct Figure: Hashable, Sendable, CustomStringConvertible {
    package enum Unit: Hashable, Sendable {
        case count
        case nanoseconds
        case partsPerMillion
        case percent
        case perTick
        /// A multiple of the floor's figure.
        case timesFloor
    }

    /// How two results are compared by the figure.
    package enum Comparison: Hashable, Sendable {
        case none
        case total
        /// With an interval: a percentile of the lateness as a multiple of the floor's.
        case byFloor(PairReport.Percentile)
    }

    /// The name in rules, as `lateness.p99`.
    package let name: String
    /// The keys in JSON, as `lateness_ns`, `p99`; empty if the figure is not saved.
    package let path: [String]
    package let unit: Unit
    /// Whether a rule can hold the figure against a bound.
    package private(set) var isBounded = false
    package private(set) var comparison = Comparison.none
    package internal(set) var columns: [Column] = []
    private let value: @Sendable (RowReport) -> Double?

    init(_ name: String, _ path: [String], _ unit: Unit, value: @escaping @Sendable (RowReport) -> Double?) {
        self.name = name
        self.path = path
        self.unit = unit
        self.value = value
    }

    /// The figure for rules.
    func bounded(_ isBounded: Bool = true) -> Figure {
        var figure = self
        figure.isBounded = isBounded
        return figure
    }

    /// The figure for comparisons.
    func compared(_ comparison: Comparison) -> Figure {
        var figure = self
        figure.comparison = comparison
        return figure
    }

    /// The figure of a row; nil if the row has none.
    package func callAsFunction(_ row: RowReport) -> Double? { value(row).flatMap { $0.isFinite ? $0 : nil } }

    /// The same, rounded for files.
    package func rounded(_ row: RowReport) -> Double? { self(row)?.rounded(places: unit == .nanoseconds ? 1 : 3) }

    package var description: String { name }

    package static func == (first: Figure, second: Figure) -> Bool { first.name == second.name }

    package func hash(into hasher: inout Hasher) { hasher.combine(name) }

    /// The name of the field in CSV: the keys of JSON with the unit at the end, as `lateness_p99_ns`.
    package var field: String {
        guard let first = path.first, path.count > 1, first.hasSuffix("_ns") else { return path.joined(separator: "_") }
        return ([String(first.dropLast(3))] + path.dropFirst() + ["ns"]).joined(separator: "_")
    }

    /// The figures that a rule can be about.
    package static let ofRules = all.filter(\.isBounded)

    /// A value with its unit, for rules and messages.
    package func text(_ value: Double) -> String {
        switch unit {
        case .count: NumberText.fixed(value, places: 0)
        case .nanoseconds: "\(NumberText.microseconds(value))us"
        case .partsPerMillion: "\(NumberText.fixed(value, places: 1))ppm"
        case .percent: "\(NumberText.fixed(value, places: 2))%"
        case .perTick: "\(NumberText.fixed(value, places: 2)) per tick"
        case .timesFloor: "\(NumberText.fixed(value, places: 2)) × floor"
        }
    }

    /// The figure of a row as it stands in a column, whose heading has the unit: nanoseconds as µs.
    package func cell(_ row: RowReport) -> String {
        guard let value = self(row) else { return "–" }
        return switch unit {
        case .count: NumberText.fixed(value, places: 0)
        case .nanoseconds: NumberText.microseconds(value)
        case .partsPerMillion: NumberText.fixed(value, places: 1)
        case .percent, .perTick, .timesFloor: NumberText.fixed(value, places: 2)
        }
    }
}

extension Figure {
    /// A place of a figure in a table.
    package struct Column: Sendable {
        package enum Place: Hashable, Sendable {
            /// The table on a terminal and in Markdown.
            case table
            /// The page's table.
            case page
            /// The page's table of further figures.
            case details
        }

        package let place: Place
        /// The heading that neighbours share.
        package let group: String
        package let title: String
        /// The line of the legend; nil if a neighbour's line explains the column.
        package let about: String?
        /// Whether a value above zero must catch the eye.
        package let isAlarming: Bool
        /// Whether a table of a report has the column.
        package let isShown: @Sendable (Report) -> Bool
        /// The cell of a row; nil for the usual text of the figure.
        package let text: (@Sendable (RowReport) -> String)?
    }

    /// The figure with one more column.
    func column(
        _ place: Column.Place,
        _ group: String,
        _ title: String,
        _ about: String? = nil,
        isAlarming: Bool = false,
        if isShown: @escaping @Sendable (Report) -> Bool = { _ in true },
        text: (@Sendable (RowReport) -> String)? = nil
    ) -> Figure {
        var figure = self
        figure.columns.append(
            Column(
                place: place,
                group: group,
                title: title,
                about: about,
                isAlarming: isAlarming,
                isShown: isShown,
                text: text
            )
        )
        return figure
    }
}
