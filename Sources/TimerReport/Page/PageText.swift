internal import TimerResults

/// Text for the page: times and numbers, and any text made harmless.
enum PageText {
    /// Text that HTML shows unchanged, between tags and in quoted attributes.
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

    /// JSON for a script element: nothing in it ends the element or begins a comment.
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

    /// A time with two digits, or more before the point, in µs, ms or s.
    static func time(_ nanoseconds: Int64) -> String {
        let nanoseconds = Double(nanoseconds)
        let units: [(name: String, scale: Double)] = [("µs", 1e3), ("ms", 1e6), ("s", 1e9)]
        // From 999.5 on, a value would be rounded to 1000.
        let unit = units.first { nanoseconds.magnitude < 999.5 * $0.scale } ?? units[2]
        let value = nanoseconds / unit.scale
        let places = value == 0 ? 0 : value.magnitude < 0.995 ? 2 : value.magnitude < 9.95 ? 1 : 0
        return "\(NumberText.fixed(value, places: places)) \(unit.name)"
    }

    /// A number with two digits, or more before the point.
    static func number(_ value: Double) -> String {
        let places = value == 0 || value.magnitude >= 9.95 ? 0 : value.magnitude < 0.995 ? 2 : 1
        return NumberText.fixed(value, places: places)
    }
}
