internal import FoundationEssentials
internal import PreciseTimer

/// All that a comparison found out, as values.
package struct Report: Encodable, Hashable, Sendable {
    /// What was asked for.
    package struct Options: Encodable, Hashable, Sendable {
        package let backends: [String]
        package let period: UInt64
        package let duration: UInt64
        package let rounds: Int

        private enum CodingKeys: String, CodingKey {
            case backends
            case period = "period_ns"
            case duration = "duration_ns"
            case rounds
        }

        /// What a plan asks for.
        package init(_ plan: MeasurementPlan) {
            backends = plan.backends.map(\.rawValue)
            period = plan.period
            duration = plan.duration
            rounds = plan.rounds
        }
    }

    /// The version of the JSON's form; grows when something in it changes its meaning or goes.
    package let schema = 1
    package let host: Host
    package let options: Options
    /// How many rounds are in it, where some of those asked for are lacking.
    package let partialAfterRounds: Int?
    package let rows: [RowReport]

    private enum CodingKeys: String, CodingKey {
        case schema
        case host
        case options
        case partialAfterRounds = "partial_after_rounds"
        case rows
    }

    package init(host: Host, options: Options, partialAfterRounds: Int? = nil, rows: [RowReport]) {
        self.host = host
        self.options = options
        self.partialAfterRounds = partialAfterRounds
        self.rows = rows
    }

    /// What a comparison has found out so far.
    package init(_ comparison: Comparison, on host: Host) {
        self.init(
            host: host,
            options: Options(comparison.plan),
            partialAfterRounds: comparison.isPartial ? comparison.rounds.count : nil,
            rows: comparison.report
        )
    }

    /// As JSON, its keys in alphabetical order.
    package func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}
