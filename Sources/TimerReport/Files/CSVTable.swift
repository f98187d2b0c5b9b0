package import TimerResults

/// The results as comma-separated values (RFC 4180, but lines end in LF): one line of names, then one line for each
/// row. Units are in the names, missing values are empty, and the decimal separator is always a point.
package struct CSVTable: CustomStringConvertible {
    private let report: Report

    package init(_ report: Report) { self.report = report }

    /// The whole text, without the end of its last line.
    package var description: String {
        let figures = Figure.all.filter { !$0.path.isEmpty }
        let names = ["row", "kind", "load", "period_ns"] + figures.map(\.field) + ["partial"]
        let lines = report.rows.map { row in
            [row.key.row, row.key.kind.rawValue, row.key.load, "\(row.period)"]
                + figures.map { figure in figure.rounded(row).map(\.shortest) ?? "" } + ["\(report.results.isPartial)"]
        }
        return ([names] + lines).map { $0.map(\.quotedForCSV).joined(separator: ",") }.joined(separator: "\n")
    }
}

extension Double {
    /// A whole number without a point.
    fileprivate var shortest: String { Int64(exactly: self).map(String.init) ?? description }
}

extension String {
    /// In quotes, if a reader would otherwise take the text apart.
    fileprivate var quotedForCSV: String {
        guard contains(where: { ",\"\n\r\r\n".contains($0) }) else { return self }
        return "\"" + reduce(into: "") { $0 += $1 == "\"" ? "\"\"" : String($1) } + "\""
    }
}
