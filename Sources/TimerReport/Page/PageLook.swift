internal import TimerResults

/// How a row is drawn: in the same colour and dash in every picture.
///
/// Kinds differ by dash, which the colour-blind can see, too. A peer has the colour of the backend that it is compared
/// with, and a reference is grey.
struct PageLook: Hashable, Sendable {
    /// The number of colours without grey.
    static let hues = 8

    /// The classes of the style sheet.
    let style: String

    /// The looks of all rows of a report, by name.
    static func of(_ report: Report) -> [String: PageLook] {
        var kinds: [(name: String, kind: RowKey.Kind)] = []
        for key in report.rows.map(\.key) where !kinds.contains(where: { $0.name == key.row }) {
            kinds.append((key.row, key.kind))
        }
        let backends = kinds.filter { $0.kind == .backend }.map(\.name)
        var next = backends.count
        var used: [String: Int] = [:]
        return kinds.reduce(into: [:]) { looks, row in
            var colour = "grey"
            if row.kind != .reference {
                let rival = RowKey(row: row.name, kind: row.kind, load: RowKey.idle).rival
                var hue = backends.firstIndex(of: row.kind == .peer ? rival ?? "" : row.name)
                if hue == nil {
                    hue = next
                    next += 1
                }
                colour = "hue\((hue ?? 0) % hues)"
            }
            let place = used[row.kind.rawValue + colour, default: 0]
            used[row.kind.rawValue + colour] = place + 1
            looks[row.name] = PageLook(style: "\(row.kind.rawValue) \(colour)\(place % 2 == 1 ? " other" : "")")
        }
    }
}
