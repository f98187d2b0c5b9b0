/// Text for the page: what was measured in words, and any text made harmless.
enum PageText {
    /// Text that stands for itself in HTML, between tags and in quoted attributes.
    static func escaped(_ text: String) -> String {
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

    /// JSON that can stand in a script element: nothing in it ends the element or begins a comment.
    static func inert(json: String) -> String {
        var inert = ""
        for scalar in json.unicodeScalars {
            switch scalar {
            case "<": inert += "\\u003c"
            case ">": inert += "\\u003e"
            case "&": inert += "\\u0026"
            case "\u{2028}": inert += "\\u2028"
            case "\u{2029}": inert += "\\u2029"
            default: inert.unicodeScalars.append(scalar)
            }
        }
        return inert
    }

    /// Nanoseconds to two digits or the full µs or ms, in the unit that suits them.
    static func time(_ nanoseconds: Double) -> String {
        let units: [(name: String, scale: Double)] = [("µs", 1e3), ("ms", 1e6), ("s", 1e9)]
        // Half a unit less than 1000, which would be rounded to 1000.
        let unit = units.first { nanoseconds.magnitude < 999.5 * $0.scale } ?? units[2]
        let value = nanoseconds / unit.scale
        let places = value == 0 ? 0 : value.magnitude < 0.995 ? 2 : value.magnitude < 9.95 ? 1 : 0
        return "\(NumberText.fixed(value, places: places)) \(unit.name)"
    }

    static func time(_ nanoseconds: Int64) -> String { time(Double(nanoseconds)) }

    /// A number with two significant digits, or all before the point.
    static func number(_ value: Double) -> String {
        let places = value == 0 || value.magnitude >= 9.95 ? 0 : value.magnitude < 0.995 ? 2 : 1
        return NumberText.fixed(value, places: places)
    }

    /// A share of 1 in percent; what is not nothing is not shown as 0.
    static func percent(_ share: Double) -> String {
        let percent = 100 * share
        return percent > 0 && percent < 0.01 ? "less than 0.01 %" : "\(number(percent)) %"
    }

    /// Names or clauses as one does in a sentence: `a, b and c`.
    static func list(_ parts: [String], _ word: String = "and") -> String {
        guard let last = parts.last, parts.count > 1 else { return parts.first ?? "" }
        return parts.dropLast().joined(separator: ", ") + " \(word) " + last
    }

    /// A number of things, in the right number.
    static func count(_ count: some BinaryInteger, _ thing: String, _ things: String? = nil) -> String {
        "\(count) \(count == 1 ? thing : things ?? thing + "s")"
    }

    /// Whose something is.
    static func possessive(_ name: String) -> String { name.hasSuffix("s") ? "\(name)’" : "\(name)’s" }
}
