internal import PreciseTimer

/// How a row is drawn: always in the same colour, dash and marker.
///
/// Kinds differ by dash and marker, which also those see who tell no colours apart. A peer has the colour of the backend
/// that a reader would hold it against.
struct PageLook: Hashable, Sendable {
    /// How many colours there are but grey, which is the references'.
    static let hues = 8

    /// Which colour; -1 for grey.
    let hue: Int
    /// Which of the dashes of its kind, from 0.
    let variant: Int

    /// How rows are drawn, in their order.
    static func of(_ rows: [(name: String, kind: Case.Kind)]) -> [PageLook] {
        var hueOfRow: [String: Int] = [:]
        for (name, kind) in rows where kind == .backend { hueOfRow[name] = hueOfRow.count % hues }
        var used: [Int: Int] = [:]
        var next = hueOfRow.count
        return rows.map { name, kind in
            switch kind {
            case .backend: return PageLook(hue: hueOfRow[name] ?? 0, variant: 0)
            case .reference:
                used[-1, default: -1] += 1
                return PageLook(hue: -1, variant: used[-1, default: 0])
            case .peer:
                let hue: Int
                if let known = Peer(rawValue: name).flatMap({ hueOfRow[$0.backend.rawValue] }) {
                    hue = known
                } else {
                    hue = next % hues
                    next += 1
                }
                used[hue, default: -1] += 1
                return PageLook(hue: hue, variant: used[hue, default: 0])
            }
        }
    }
}
