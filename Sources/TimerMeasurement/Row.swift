package import PreciseTimer

/// What is measured: a backend of the library, or a reference that it is compared with.
package enum Row: Hashable, Sendable {
    case backend(TimerService.Backend)
    case reference(Reference)

    /// Whether the library is in it.
    package enum Kind: String, Encodable, Sendable {
        case backend
        case reference
    }

    /// The name in tables, in JSON and on the command line.
    package var name: String {
        switch self {
        case .backend(let backend): backend.rawValue
        case .reference(let reference): reference.rawValue
        }
    }

    /// Whether the library is in it.
    package var kind: Kind {
        switch self {
        case .backend: .backend
        case .reference: .reference
        }
    }

    /// The row of which every other's lateness is given as a multiple.
    static let floor = Row.reference(.timerFD)
}
