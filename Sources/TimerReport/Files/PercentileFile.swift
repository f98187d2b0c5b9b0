package import TimerResults

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
