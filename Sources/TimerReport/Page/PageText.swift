internal import TimerResults

/// Text for the page: times and numbers, and any text made harmless.
package enum PageText {
    /// Text that HTML shows unchanged, between tags and in quoted attributes.
    package static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// A sentence for HTML, in which no line ends between a number and its unit.
    static func sentence(_ text: String) -> String {
        ["%", "ns", "µs", "ms", "s", "×"]
            .reduce(escaped(text)) { text, unit in
                text.replacing(" \(unit) ", with: "\u{A0}\(unit) ").replacing(" \(unit),", with: "\u{A0}\(unit),")
                    .replacing(" \(unit).", with: "\u{A0}\(unit).")
            }
            .replacing("± ", with: "±\u{A0}").replacing("a core", with: "a\u{A0}core")
    }

    /// A time with three significant digits: in ns below 1 µs, in µs below 1 ms, then in ms, then in s.
    package static func time(_ nanoseconds: Int64) -> String {
        let nanoseconds = Double(nanoseconds)
        let units: [(name: String, scale: Double)] = [("ns", 1), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)]
        // From 999.5 on, a value would be rounded to 1000.
        let unit = units.first { nanoseconds.magnitude < 999.5 * $0.scale } ?? units[3]
        let value = nanoseconds / unit.scale
        let places = unit.scale == 1 || value.magnitude >= 99.95 ? 0 : value.magnitude >= 9.995 ? 1 : 2
        return "\(NumberText.fixed(value, places: places)) \(unit.name)"
    }

    /// The least and the greatest of some times: `97.3 to 99.1 µs`.
    static func range(_ nanoseconds: [Int64]) -> String {
        range(time(nanoseconds.min() ?? 0), time(nanoseconds.max() ?? 0))
    }

    /// The same for percents.
    static func range(percents: [Double]) -> String {
        range("\(number(percents.min() ?? 0)) %", "\(number(percents.max() ?? 0)) %")
    }

    /// Two quantities, with one unit if they share it.
    private static func range(_ low: String, _ high: String) -> String {
        let parts = [low, high].map { $0.split(separator: " ") }
        if low == high { return low }
        return (parts[0].last == parts[1].last ? String(parts[0][0]) : low) + " to " + high
    }

    /// Names with commas, and an "and" before the last.
    static func list(_ names: [String]) -> String {
        guard let last = names.last, names.count > 1 else { return names.first ?? "" }
        return names.dropLast().joined(separator: ", ") + " and " + last
    }

    /// A number with two digits, or more before the point.
    static func number(_ value: Double) -> String {
        let places = value == 0 || value.magnitude >= 9.95 ? 0 : value.magnitude < 0.995 ? 2 : 1
        return NumberText.fixed(value, places: places)
    }
}
