/// How text stands out on a terminal: ECMA-48's "select graphic rendition".
///
/// The package Rainbow decides by itself whether to print colour, and its switches are unguarded variables of the
/// process, which Swift 6 does not let us set.
package enum Ink: String, Hashable, Sendable {
    /// The best of a column.
    case best = "1;32"
    /// A broken promise.
    case wrong = "1;31"
    case strong = "1"
    case faint = "2"

    /// Whether output may be coloured: on a terminal that can show colour, unless the environment forbids it
    /// (no-color.org).
    package static func isWanted(isTerminal: Bool, environment: [String: String]) -> Bool {
        isTerminal && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
    }

    func on(_ text: String) -> String { "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" }
}

/// Text in an ink.
struct Inked: Hashable, Sendable {
    let text: String
    let ink: Ink?

    init(_ text: String, _ ink: Ink? = nil) {
        self.text = text
        self.ink = ink
    }

    func shown(inColour: Bool) -> String { inColour && !text.isEmpty ? ink?.on(text) ?? text : text }
}
