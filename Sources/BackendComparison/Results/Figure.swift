/// A figure of a row that a rule can be about, with its name and unit in every output.
package enum Figure: String, CaseIterable, Sendable {
    case p50, p90, p99
    case p999 = "p99.9"
    case missed, drift, cpu
    case wakeUps = "wakeups"
    case switches

    enum Unit: Sendable { case nanoseconds, percent, partsPerMillion, perTick }

    var unit: Unit {
        switch self {
        case .p50, .p90, .p99, .p999: .nanoseconds
        case .missed, .cpu: .percent
        case .drift: .partsPerMillion
        case .wakeUps, .switches: .perTick
        }
    }

    /// The share of the deadlines that a percentile is about, in percent; nil for another figure.
    var percent: Double? {
        switch self {
        case .p50: 50
        case .p90: 90
        case .p99: 99
        case .p999: 99.9
        case .missed, .drift, .cpu, .wakeUps, .switches: nil
        }
    }

    /// The key in JSON and the column in CSV.
    var field: String {
        switch self {
        case .p50, .p90, .p99: "\(rawValue)_ns"
        case .p999: "p999_ns"
        case .missed, .cpu: "\(rawValue)_percent"
        case .drift: "drift_ppm"
        case .wakeUps, .switches: "\(rawValue)_per_tick"
        }
    }

    /// A value with its unit, for people.
    func text(_ value: Double) -> String {
        switch unit {
        case .nanoseconds: NumberText.time(value)
        case .percent: "\(NumberText.fixed(value, places: 1)) %"
        case .partsPerMillion: "\(NumberText.fixed(value, places: 0)) ppm"
        case .perTick: NumberText.fixed(value, places: 2)
        }
    }

    /// A value with its range: `68 µs (52–90)`.
    func text(_ estimate: Estimate) -> String {
        switch unit {
        case .nanoseconds: NumberText.time(estimate)
        case .partsPerMillion: NumberText.drift(estimate) + " ppm"
        case .percent, .perTick:
            text(estimate.value)
                + (estimate.interval.map { interval in
                    let places = unit == .percent ? 1 : 2
                    let ends = [interval.lowerBound, interval.upperBound].map { NumberText.fixed($0, places: places) }
                    return " (\(ends[0])–\(ends[1]))"
                } ?? "")
        }
    }
}

extension NumberText {
    private static let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")]

    /// Nanoseconds with two digits in the unit that fits: `39 µs`, `4.4 ms`, `0.12 µs`.
    static func time(_ nanoseconds: Double) -> String {
        let unit = unit(of: nanoseconds)
        return "\(digits(nanoseconds / unit.scale)) \(unit.name)"
    }

    /// A time with its range, all in one unit: `26 ms (0.1–46)`. Without a range it says so: `26 ms (?)`.
    static func time(_ estimate: Estimate) -> String {
        let unit = unit(of: estimate.value)
        let range = estimate.interval
            .map { "\(digits($0.lowerBound / unit.scale))–\(digits($0.upperBound / unit.scale))" }
        return "\(digits(estimate.value / unit.scale)) \(unit.name) (\(range ?? "?"))"
    }

    /// A drift with its noise, without its unit: `0 ± 3`, `0.2 ± 0.4`; and `67k ± 6.3k` if both are great.
    static func drift(_ estimate: Estimate) -> String {
        let noise = estimate.interval.map { ($0.upperBound - $0.lowerBound) / 2 } ?? 0
        if max(estimate.value.magnitude, noise) >= 9_950, noise >= 95 {
            return "\(digits(estimate.value / 1000))k ± \(digits(noise / 1000))k"
        }
        let places = noise < 0.95 ? 1 : 0
        return "\(fixed(estimate.value, places: places)) ± \(fixed(noise, places: places))"
    }

    private static func unit(of nanoseconds: Double) -> (scale: Double, name: String) {
        // 0.95 ms would be rounded to 1.0 ms.
        units.first { nanoseconds.magnitude >= 0.995 * $0.0 } ?? (1e3, "µs")
    }

    /// Two digits, or all digits before the point.
    private static func digits(_ value: Double) -> String {
        fixed(value, places: value.magnitude >= 9.95 ? 0 : value.magnitude >= 0.995 || value == 0 ? 1 : 2)
    }
}
