/// For people.
extension Difference: CustomStringConvertible {
    package var description: String {
        let header = ["case", "figure", "old", "new", "new/old", "99 % interval", ""]
        let cells = lines.map { line in
            [
                "\(line.case)", line.figure.name, line.figure.text(line.old), line.figure.text(line.new),
                line.ratio.map { NumberText.fixed($0, places: 2) } ?? "–",
                line.interval.map {
                    "\(NumberText.fixed($0.lowerBound, places: 2)) to \(NumberText.fixed($0.upperBound, places: 2))"
                } ?? "",
                line.verdict?.rawValue ?? "",
            ]
        }
        let table = AlignedColumns(header: header, rows: cells, left: [0, 1, 6]).description
        let explanation = """
            new/old   the new figure as a multiple of the old one; the interval is that of the rounds' medians. Two runs lie \
            apart in time, and the
                      host may have changed between them: floor.p50, a multiple of what the host allowed in the same round, \
            tells that apart
            """
        return ([table] + (lines.isEmpty ? [] : ["", explanation]) + [caution].compactMap(\.self) + unmatched)
            .joined(separator: "\n")
    }
}
