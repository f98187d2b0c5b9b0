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

/// A part of the page that opens when a reader asks for it.
struct PageDetails {
    /// The name of the part in the page's address.
    let name: String
    let title: String
    /// What the part tells, in a few words.
    let about: String
    let content: String

    /// Nothing, if there is no content.
    var html: String {
        content.isEmpty
            ? ""
            : """
            <details data-open="\(name)"><summary><h3>\(PageText.escaped(title))</h3> \
            <span>\(PageText.escaped(about))</span></summary>
            <div class="content">
            \(content)
            </div></details>
            """
    }
}

/// The words of the page, explained.
enum PageGuide {
    private static let words = [
        ("Lateness", "The time from a deadline to the first line of the handler."),
        ("p50, p99", "Half of the deadlines, or 99 of 100, were served within this time."),
        (
            "CPU",
            "The processor time of all threads of a row, handlers included, as a share of one core."
        ),
        (
            "Missed",
            "Deadlines that got no tick of their own, because the tick before them came too late. All of the page "
                + "counts them: they are late until the tick that carried them. Only the lateness and jitter in \"All "
                + "figures\" are those of the ticks alone."
        ),
        (
            "Backend, peer, floor",
            "A backend is a mechanism of the library. A peer does the same work without the library. A floor is a "
                + "bare loop of system calls: how early this machine can be."
        ),
        (
            "Later, earlier, same",
            "In each lap every row has one turn, in random order, and p50 is compared lap by lap. The interval in "
                + "brackets holds the true ratio in 99 of 100 measurements. If it holds 1, the two rows are the same. "
                + "p95 is compared in groups of a hundred deadlines."
        ),
        (
            "Earliest, cannot be told apart",
            "A backend is earliest if every other backend is shown to be later than some backend. If this run cannot "
                + "tell backends apart, a longer run may. Backends share the lead if one is earlier in the middle, and "
                + "another in the tail."
        ),
        ("Drift", "1 ppm is 1 µs of additional lateness in a second. A slope below its noise was not seen."),
    ]

    static let html =
        "<dl>\n"
        + words.map { "<dt>\(PageText.escaped($0))</dt><dd>\(PageText.escaped($1))</dd>\n" }.joined() + "</dl>"
}
