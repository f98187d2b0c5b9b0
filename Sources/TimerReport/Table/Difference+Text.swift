internal import TimerResults

/// For people.
extension Difference: CustomStringConvertible {
    package var description: String {
        let titles = ["row", "figure", "old", "new", "new/old", "verdict"]
        let columns = titles.enumerated().map { TextColumns.Column($1, isFlushLeft: [0, 1, 5].contains($0)) }
        let cells = lines.map { line in
            [
                "\(line.key)", line.figure.name, line.figure.text(line.old), line.figure.text(line.new),
                line.ratio.map { NumberText.fixed($0, places: 2) } ?? "–", line.known?.words ?? "",
            ]
        }
        let table = TextColumns(columns, cells)
        let explanation = """
            new/old   the new figure as a multiple of the old one. The host may have changed between the runs, so only
                      multiples of the floor in the same run have a verdict, with room for what two runs of one
                      program differ by. To compare two builds closely: compare-backends against
            """
        return
            ([table.titles] + table.lines + (lines.isEmpty ? [] : ["", explanation])
            + unmatched)
            .joined(separator: "\n")
    }
}
