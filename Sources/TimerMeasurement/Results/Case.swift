/// What one line of the results is about: a row under a load.
package struct Case: Codable, Hashable, Sendable, CustomStringConvertible {
    /// Whether the library is in it.
    package enum Kind: String, Codable, Sendable {
        /// A backend of the library.
        case backend
        /// What one would write without the library.
        case peer
        /// What there is below either.
        case reference
    }

    /// The row's name, as `timerfd`; the second of two equal ones is `timerfd#2`.
    package let row: String
    /// Whether the library is in it.
    package let kind: Kind
    /// The load's name, as `idle` or `cpu:2`.
    package let load: String

    package init(row: String, kind: Kind, load: String) {
        self.row = row
        self.kind = kind
        self.load = load
    }

    /// As rules and messages name it: `timerfd@cpu:2`, and without an idle load.
    package var description: String { load == Self.idle ? row : "\(row)@\(load)" }

    /// The name of the load that is none.
    package static let idle = "idle"
}
