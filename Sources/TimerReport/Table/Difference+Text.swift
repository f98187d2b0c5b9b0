internal import TimerResults

/// For people.
extension Difference: CustomStringConvertible {
    package var description: String {
        let titles = ["row", "figure", "old", "new", "new/old", "99 % interval", ""]
        let columns = titles.enumerated().map { TextColumns.Column($1, isFlushLeft: [0, 1, 6].contains($0)) }
        let cells = lines.map { line in
            [
                "\(line.key)", line.figure.name, line.figure.text(line.old), line.figure.text(line.new),
                line.ratio.map { NumberText.fixed($0, places: 2) } ?? "–",
                line.interval.map {
                    "\(NumberText.fixed($0.lowerBound, places: 2)) to \(NumberText.fixed($0.upperBound, places: 2))"
                } ?? "",
                line.verdict?.rawValue ?? "",
            ]
        }
        let table = TextColumns(columns, cells)
        let explanation = """
            new/old   the new figure as a multiple of the old one, with the interval of the rounds' medians. The
                      host may have changed between the two runs: floor.p50, a multiple of the floor in the same round,
                      shows whether it did
            """
        return
            ([table.titles] + table.lines + (lines.isEmpty ? [] : ["", explanation])
            + [problem].compactMap(\.self) + unmatched)
            .joined(separator: "\n")
    }
}
