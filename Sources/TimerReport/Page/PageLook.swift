internal import TimerResults

/// How a row is drawn: always in the same colour, dash and marker.
///
/// Kinds differ by dash and marker, which the colour-blind can see, too. A peer has the colour of the backend that it
/// is compared with.
struct PageLook: Hashable, Sendable {
    /// The number of colours without grey, the colour of references.
    static let hues = 8

    /// The number of the colour; -1 for grey.
    let hue: Int
    /// The number of the dash among those of the kind, from 0.
    let variant: Int

    /// The looks of some rows, in their order.
    static func of(_ rows: [(name: String, kind: RowKey.Kind)]) -> [PageLook] {
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
                if let known = RowKey(row: name, kind: kind, load: RowKey.idle).rival.flatMap({ hueOfRow[$0] }) {
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
