/// One number of a row, as rules and comparisons name it.
package struct Figure: Hashable, Sendable, CustomStringConvertible {
    /// What the number counts.
    package enum Unit: Hashable, Sendable {
        case nanoseconds
        case partsPerMillion
        case percent
        case perTick
        /// A multiple of the floor's.
        case timesFloor
    }

    /// As it is written in a rule: `lateness.p99`.
    package let name: String
    package let unit: Unit
    /// Whether a multiple of a former value says something: of what may well be zero it does not.
    package let canBeRelative: Bool
    private let value: @Sendable (RowReport) -> Double?

    /// The number of a row; nil where it has none.
    package func callAsFunction(_ row: RowReport) -> Double? { value(row) }

    package var description: String { name }

    package static func == (first: Figure, second: Figure) -> Bool { first.name == second.name }

    package func hash(into hasher: inout Hasher) { hasher.combine(name) }

    /// All that a rule can be about, in the order of the table.
    package static let all: [Figure] =
        spread("lateness") { $0.lateness } + spread("corrected") { $0.corrected } + spread("wake") { $0.wake }
        + spread("hop", canBeRelative: false) { $0.hop } + spread("interval-error") { $0.intervalError } + [
            Figure(name: "jitter.stddev", unit: .nanoseconds, canBeRelative: true) { $0.jitter.stddev },
            Figure(name: "jitter.p99-p50", unit: .nanoseconds, canBeRelative: true) { Double($0.jitter.p99LessP50) },
            // A drift below its noise is none that was seen.
            Figure(name: "drift", unit: .partsPerMillion, canBeRelative: false) { row in
                row.drift.map { $0.ppm.magnitude > $0.noise ? $0.ppm.magnitude : 0 }
            },
            Figure(name: "missed", unit: .percent, canBeRelative: false) { $0.missedPercent },
            Figure(name: "cpu", unit: .percent, canBeRelative: true) { $0.cpuPercent },
            Figure(name: "wakeups", unit: .perTick, canBeRelative: true) { $0.wakeUpsPerTick },
            Figure(name: "switches", unit: .perTick, canBeRelative: true) { $0.contextSwitchesPerTick },
            Figure(name: "floor.p50", unit: .timesFloor, canBeRelative: true) { $0.ratioToFloor.p50 },
            Figure(name: "floor.p99", unit: .timesFloor, canBeRelative: true) { $0.ratioToFloor.p99 },
        ]

    /// The one of a name; nil where there is none.
    package static func named(_ name: String) -> Figure? { all.first { $0.name == name } }

    private static func spread(
        _ name: String,
        canBeRelative: Bool = true,
        _ spread: @escaping @Sendable (RowReport) -> RowReport.Spread
    ) -> [Figure] {
        [
            Figure(name: "\(name).p50", unit: .nanoseconds, canBeRelative: canBeRelative) { Double(spread($0).p50) },
            Figure(name: "\(name).p90", unit: .nanoseconds, canBeRelative: canBeRelative) { Double(spread($0).p90) },
            Figure(name: "\(name).p99.9", unit: .nanoseconds, canBeRelative: canBeRelative) { Double(spread($0).p999) },
            Figure(name: "\(name).p99", unit: .nanoseconds, canBeRelative: canBeRelative) { Double(spread($0).p99) },
            Figure(name: "\(name).mean", unit: .nanoseconds, canBeRelative: canBeRelative) { spread($0).mean },
        ]
    }

    /// A value as people read it.
    package func text(_ value: Double) -> String {
        switch unit {
        case .nanoseconds: "\(NumberText.microseconds(value))us"
        case .partsPerMillion: "\(NumberText.fixed(value, places: 1))ppm"
        case .percent: "\(NumberText.fixed(value, places: 2))%"
        case .perTick: "\(NumberText.fixed(value, places: 2)) per tick"
        case .timesFloor: "\(NumberText.fixed(value, places: 2)) × floor"
        }
    }
}

extension RowReport {
    /// How many of the deadlines got no tick of their own, in percent.
    package var missedPercent: Double? {
        let deadlines = Double(ticks) + Double(missed)
        return deadlines == 0 ? nil : 100 * Double(missed) / deadlines
    }
}
