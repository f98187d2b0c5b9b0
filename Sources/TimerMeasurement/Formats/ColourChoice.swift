/// Whether results are coloured, where nobody has said.
package enum ColourChoice {
    /// On a terminal that can show it, unless the environment asks for none (no-color.org).
    package static func isWanted(isTerminal: Bool, environment: [String: String]) -> Bool {
        isTerminal && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
    }
}
