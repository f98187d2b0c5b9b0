/// The results as comma-separated values (RFC 4180, but lines end in LF): a line of names, then one for each case. Units are
/// in the names, what there is none of is empty, and numbers have a point in every language.
package struct CSVTable: CustomStringConvertible {
    private let report: Report

    package init(_ report: Report) { self.report = report }

    /// All of it, without the end of its last line.
    package var description: String {
        let partial = report.results.isPartial ? "true" : "false"
        let lines =
            [Self.fields.map(\.name) + ["partial"]]
            + report.rows.map { row in Self.fields.map { $0.value(row) ?? "" } + [partial] }
        return lines.map { $0.map(\.quotedForCSV).joined(separator: ",") }.joined(separator: "\n")
    }

    /// A name, and what stands below it.
    private struct Field: Sendable {
        let name: String
        let value: @Sendable (RowReport) -> String?

        init(_ name: String, _ value: @escaping @Sendable (RowReport) -> (any CustomStringConvertible)?) {
            self.name = name
            self.value = { row in value(row)?.description }
        }
    }

    private static let fields: [Field] =
        [
            Field("row") { $0.case.row },
            Field("kind") { $0.case.kind.rawValue },
            Field("load") { $0.case.load },
            Field("period_ns") { $0.period },
            Field("ticks") { $0.ticks },
            Field("missed") { $0.missed },
            Field("early") { $0.early },
        ]
        + spread("lateness") { $0.lateness } + spread("corrected_lateness") { $0.corrected }
        + spread("wake_lateness") { $0.wake } + spread("hop_lateness") { $0.hop }
        + spread("interval_error") { $0.intervalError }
        + [
            Field("jitter_stddev_ns") { $0.jitter.stddev },
            Field("jitter_p99_less_p50_ns") { $0.jitter.p99LessP50 },
            Field("drift_ppm") { $0.drift?.ppm },
            Field("drift_noise_ppm") { $0.drift?.noise },
            Field("drift_end_offset_ns") { $0.drift?.endOffset },
            Field("cpu_percent") { $0.cpuPercent },
            Field("wakeups_per_tick") { $0.wakeUpsPerTick },
            Field("context_switches_per_tick") { $0.contextSwitchesPerTick },
            Field("ratio_to_floor_p50") { $0.ratioToFloor.p50 },
            Field("ratio_to_floor_p99") { $0.ratioToFloor.p99 },
        ]

    private static func spread(
        _ name: String,
        _ spread: @escaping @Sendable (RowReport) -> RowReport.Spread
    ) -> [Field] {
        [
            Field("\(name)_min_ns") { spread($0).min },
            Field("\(name)_p50_ns") { spread($0).p50 },
            Field("\(name)_p90_ns") { spread($0).p90 },
            Field("\(name)_p99_ns") { spread($0).p99 },
            Field("\(name)_p999_ns") { spread($0).p999 },
            Field("\(name)_max_ns") { spread($0).max },
            Field("\(name)_mean_ns") { spread($0).mean },
        ]
    }
}

extension String {
    /// In quotes where it would be taken apart without.
    var quotedForCSV: String {
        guard contains(where: { ",\"\n\r\r\n".contains($0) }) else { return self }
        return "\"" + reduce(into: "") { $0 += $1 == "\"" ? "\"\"" : String($1) } + "\""
    }
}
