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

/// The percentiles of a row in µs, in the format that HdrHistogram's tools write and plot.
package struct PercentileFile: Hashable, Sendable {
    /// The file's name, as `timerfd.hgrm`, `timerfd@cpu-2.hgrm` or `timerfd-corrected.hgrm`.
    package let name: String
    package let text: String

    /// Two files for each row that has ticks: the lateness of the ticks, and that of all deadlines, missed ones
    /// included.
    package static func all(_ report: Report) -> [PercentileFile] {
        report.rows.filter { $0.ticks > 0 }
            .flatMap { row in
                [
                    PercentileFile(row.key, "", row.lateness),
                    PercentileFile(row.key, "-corrected", row.corrected),
                ]
            }
    }

    private init(_ key: RowKey, _ suffix: String, _ distribution: Distribution) {
        name = Self.safe("\(key)") + suffix + ".hgrm"
        text = distribution.percentileText
    }

    /// A name that every file system accepts, inside the folder.
    private static func safe(_ name: String) -> String {
        String(name.map { $0.isASCII && ($0.isLetter || $0.isNumber) || "-_.#@".contains($0) ? $0 : "-" })
    }
}
