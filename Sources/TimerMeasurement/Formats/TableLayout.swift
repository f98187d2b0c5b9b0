/// Where the columns of a table stand: neighbours of one group close together, under the group's name.
struct TableLayout: Sendable {
    private let columns: [ResultColumn]
    private var widths: [Int]
    /// The columns of each group.
    private let groups: [Range<Int>]

    /// A layout with room for these lines. The first and the last column are flush left, all others flush right.
    init(_ columns: [ResultColumn], for lines: [[String]]) {
        self.columns = columns
        widths = columns.indices.map { column in
            (lines.map { $0[column].count } + [columns[column].title.count]).max() ?? 0
        }
        groups = Self.groups(of: columns)
        // Where a group is narrower than its name its first column gets wider.
        for group in groups {
            let name = columns[group.lowerBound].group.count
            let lack = name - width(of: group)
            if lack > 0 { widths[group.lowerBound] += lack }
        }
    }

    private static func groups(of columns: [ResultColumn]) -> [Range<Int>] {
        var groups: [Range<Int>] = []
        for (position, column) in columns.enumerated() {
            if let last = groups.last, !column.group.isEmpty, columns[last.lowerBound].group == column.group {
                groups[groups.count - 1] = last.lowerBound..<position + 1
            } else {
                groups.append(position..<position + 1)
            }
        }
        return groups
    }

    private func width(of group: Range<Int>) -> Int { widths[group].reduce(0, +) + group.count - 1 }

    /// The groups' names, and the columns'.
    var header: [String] {
        let names = groups.map { group in
            title(columns[group.lowerBound].group, over: group)
        }
        return [names.joined(separator: "  ").trimmedAtTheEnd, line(columns.map { Inked($0.title) }, colour: false)]
    }

    /// A group's name, with a rule that shows how far it reaches where it has several columns.
    private func title(_ name: String, over group: Range<Int>) -> String {
        guard group.count > 1 else {
            return Inked(name)
                .padded(to: width(of: group), flushLeft: isFlushLeft(group.lowerBound), colour: false)
        }
        let rule = width(of: group) - name.count - 2
        guard rule > 1 else { return Inked(name).padded(to: width(of: group), flushLeft: false, colour: false) }
        return String(repeating: "─", count: rule / 2) + " \(name) " + String(repeating: "─", count: rule - rule / 2)
    }

    /// What stands in the columns, as a line.
    func line(_ cells: [Inked], colour: Bool) -> String {
        groups
            .map { group in
                group
                    .map { cells[$0].padded(to: widths[$0], flushLeft: isFlushLeft($0), colour: colour) }
                    .joined(separator: " ")
            }
            .joined(separator: "  ")
            .trimmedAtTheEnd
    }

    /// A thin line under the first column.
    var rule: String { String(repeating: "╌", count: widths[0]) }

    private func isFlushLeft(_ column: Int) -> Bool { column == 0 || column == columns.count - 1 }
}

extension String {
    /// Without the spaces at its end.
    var trimmedAtTheEnd: String {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }
}
