public import PreciseTimer

/// How late and how expensive the ticks of some backends were on this machine, as measured by
/// ``compareBackends(_:period:for:progress:)``.
///
/// Printed, it is the table of the command `compare-backends`, with its sentences. Coded as JSON, it is a file of
/// the command, which `compare-backends show` reads, and a file of the command can be decoded.
public struct BackendComparison: Sendable {
    package let report: Report

    package init(_ report: Report) { self.report = report }

    /// A row for each backend that was measured, in the order in which they were asked for. A backend that failed later
    /// has a row, too, which says so (``Row/failure``). A backend of which nothing could be measured has none, and is
    /// named in ``warnings``. If a file of the command has several loads, these are the rows of its first one.
    public var rows: [Row] { report.rows.filter { $0.key.load == report.loads.first }.compactMap { Row($0) } }

    /// The first backend, in the order of the rows, whose row fits; nil if no row does. A backend that failed, or broke
    /// a promise of the library, does not fit: see ``Row/failure``.
    ///
    /// ```swift
    /// let comparison = try await compareBackends()
    /// let backend = comparison.first { $0.p99 < .microseconds(200) && $0.cpu < 0.02 } ?? .timerFD
    /// ```
    public func first(where fits: (Row) throws -> Bool) rethrows -> TimerService.Backend? {
        try rows.first { row in try row.failure == nil && fits(row) }?.backend
    }

    /// What follows from the figures: the sentences below the table.
    public var sentences: [String] { Words(report).sentences }

    /// Reasons to believe the figures less: what is missing, such as a backend that failed; what else the machine did
    /// during the comparison; and each promise of the library that a backend broke. Empty for a whole comparison on a
    /// quiet machine.
    public var warnings: [String] {
        report.results.missing + [Words(report).state].compactMap(\.self) + report.problems
    }

    /// Whether everything was measured that was asked for: no cancellation, and no backend that failed.
    public var isComplete: Bool { report.results.missing.isEmpty }
}

extension BackendComparison: CustomStringConvertible {
    /// The table and the sentences, in lines of at most 80 characters.
    public var description: String { report.judged([]).screen() }
}

extension BackendComparison: Equatable {
    /// Whether both are of the same measurement.
    public static func == (one: BackendComparison, other: BackendComparison) -> Bool {
        one.report.results == other.report.results
    }
}

extension BackendComparison: Codable {
    /// Decodes a comparison, or what the command wrote with `-o out.json`.
    public init(from decoder: any Decoder) throws { self.init(Report(try JSONFile.results(from: decoder))) }

    /// Encodes all that was measured, lap by lap, some 20 KB for each backend.
    public func encode(to encoder: any Encoder) throws { try JSONFile.encode(report, to: encoder) }
}
