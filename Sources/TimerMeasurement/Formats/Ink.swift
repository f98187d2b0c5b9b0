/// How text stands out on a terminal: ECMA-48's "select graphic rendition".
///
/// Our own and not Rainbow's, which decides for itself whether there is colour: its switches are variables of the process,
/// shared and unguarded, which Swift 6 does not let us set.
enum Ink: String, Hashable, Sendable {
    /// The best of its column.
    case best = "1;32"
    /// What must never be.
    case wrong = "1;31"
    /// What matters more than the rest.
    case strong = "1"
    /// What matters less than the rest.
    case faint = "2"

    /// The text in this ink.
    func on(_ text: String) -> String { "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" }
}

/// Text that may stand out.
struct Inked: Hashable, Sendable {
    let text: String
    var ink: Ink?

    init(_ text: String, _ ink: Ink? = nil) {
        self.text = text
        self.ink = ink
    }

    /// The text at a width, on either side of which there is space; coloured or not.
    func padded(to width: Int, flushLeft: Bool, colour: Bool) -> String {
        let space = String(repeating: " ", count: max(0, width - text.count))
        let shown = colour && !text.isEmpty ? ink?.on(text) ?? text : text
        return flushLeft ? shown + space : space + shown
    }
}
