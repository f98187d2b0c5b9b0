internal import Histogram

/// A case's percentiles as HdrHistogram's tools write and plot them, in µs.
package struct PercentileFile: Hashable, Sendable {
    /// The file's name, as `timerfd.hgrm`, `timerfd@cpu-2.hgrm` or `timerfd-corrected.hgrm`.
    package let name: String
    /// What is in it.
    package let text: String

    /// Two files for each case that has ticks: the ticks' lateness, and that of all deadlines, those included that got no
    /// tick of their own.
    package static func all(_ report: Report) -> [PercentileFile] {
        report.rows.filter { $0.ticks > 0 }
            .flatMap { row in
                [
                    PercentileFile(row.case, "", row.distribution),
                    PercentileFile(row.case, "-corrected", row.correctedDistribution),
                ]
            }
    }

    private init(_ case: Case, _ suffix: String, _ distribution: Distribution) {
        name = Self.safe("\(`case`)") + suffix + ".hgrm"
        var text = ""
        distribution.histogram.outputPercentileDistribution(
            to: &text,
            outputValueUnitScalingRatio: 1000,
            percentileTicksPerHalfDistance: 5
        )
        self.text = text
    }

    /// A name that every file system takes, and that leads into no other folder.
    private static func safe(_ name: String) -> String {
        String(name.map { $0.isASCII && ($0.isLetter || $0.isNumber) || "-_.#@".contains($0) ? $0 : "-" })
    }
}
