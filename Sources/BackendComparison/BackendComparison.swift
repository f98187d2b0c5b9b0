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

extension BackendComparison {
    /// The figures of one backend. Times are right to within 2 %.
    public struct Row: Hashable, Codable, Sendable {
        /// The backend.
        public let backend: TimerService.Backend
        /// Why the figures do not count, in one line: the backend failed during the comparison, or it broke a promise
        /// of the library, such as to tick no earlier than the deadline. Nil if nothing went wrong.
        /// ``BackendComparison/first(where:)`` leaves out a row with a failure.
        public let failure: String?
        /// The number of deadlines that the figures are of.
        public let deadlines: Int
        /// Half of the deadlines were served within this time. A missed deadline counts until the tick that stood for
        /// it.
        public let p50: Duration
        /// 99 % of the deadlines were served within this time; all of them, if they are fewer than a hundred. Never
        /// below ``p50``.
        public let p99: Duration
        /// Holds the true p99 in 99 of 100 comparisons, and in fewer if a few stalls make the p99. Nil if the
        /// comparison was too short to say: it takes 800 deadlines.
        public let p99Range: ClosedRange<Duration>?
        /// The share of the deadlines that got no tick of their own, from 0 to 1.
        public let missed: Double
        /// The slope of the lateness over time; nil if the comparison was too short to say.
        public let drift: Drift?
        /// The share of one processor that the whole process took while this backend ticked, without the thread that
        /// measures: 0.02 is 2 %. So other work of the program counts, too. Never negative; above 1 if several threads
        /// work.
        public let cpu: Double

        private enum CodingKeys: CodingKey {
            case backend, failure, deadlines, p50, p99, p99Range, missed, drift, cpu
        }

        /// Nil for a row that is not of a backend. The accounts of a turn are always read, so its shares are known.
        init?(_ row: RowReport) {
            guard let backend = TimerService.Backend(rawValue: row.key.row), let missed = row.missed?.value,
                let cpu = row.cpu?.value
            else { return nil }
            self.backend = backend
            failure = row.row.obstacle
            deadlines = Int(clamping: row.deadlines)
            p50 = Self.duration(row.p50?.value ?? row.row.lateness.percentile(50))
            p99 = Self.duration(row.p99?.value ?? row.worst ?? 0)
            p99Range = row.p99?.interval.map { Self.duration($0.lowerBound)...Self.duration($0.upperBound) }
            self.missed = missed / 100
            drift = row.row.drift.map { Drift(ppm: $0.ppm, noise: $0.noise) }
            self.cpu = cpu / 100
        }

        /// Decodes a row. Throws `DecodingError` for numbers that no comparison can have found, such as a negative
        /// share, or a p99 below the p50.
        public init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            backend = try values.decode(TimerService.Backend.self, forKey: .backend)
            failure = try values.decodeIfPresent(String.self, forKey: .failure)
            deadlines = try values.decode(Int.self, forKey: .deadlines)
            p50 = try values.decode(Duration.self, forKey: .p50)
            p99 = try values.decode(Duration.self, forKey: .p99)
            p99Range = try values.decodeIfPresent(ClosedRange<Duration>.self, forKey: .p99Range)
            missed = try values.decode(Double.self, forKey: .missed)
            drift = try values.decodeIfPresent(Drift.self, forKey: .drift)
            cpu = try values.decode(Double.self, forKey: .cpu)
            if let key = senselessKey { throw DecodingError.senseless(key, in: values) }
        }

        /// The first number that no comparison can have found.
        private var senselessKey: CodingKeys? {
            let isSound: [(CodingKeys, Bool)] = [
                (.deadlines, deadlines > 0), (.p50, p50 >= .zero), (.p99, p99 >= p50),
                (.p99Range, p99Range.map { $0.lowerBound >= .zero && $0.contains(p99) } ?? true),
                (.missed, (0...1).contains(missed)), (.cpu, cpu >= 0 && cpu.isFinite),
            ]
            return isSound.first { !$0.1 }?.0
        }

        /// Whole nanoseconds. A file may have any number.
        private static func duration(_ nanoseconds: Double) -> Duration {
            .nanoseconds(Int64(exactly: min(max(nanoseconds, 0), 1e18).rounded()) ?? 0)
        }
    }
}

extension BackendComparison {
    /// The slope of the lateness over time.
    public struct Drift: Hashable, Codable, Sendable, CustomStringConvertible {
        /// Parts per million: so many µs later with each second.
        public let ppm: Double
        /// The true drift is within so much of ``ppm``, in 99 of 100 comparisons.
        public let noise: Double

        /// The drift, as in `2 ± 28 ppm`.
        public var description: String { NumberText.drift(StretchDrift(ppm: ppm, noise: noise).estimate) + " ppm" }

        init(ppm: Double, noise: Double) { (self.ppm, self.noise) = (ppm, noise) }

        /// Decodes a drift. Throws `DecodingError` for numbers that no comparison can have found.
        public init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            ppm = try values.decode(Double.self, forKey: .ppm)
            noise = try values.decode(Double.self, forKey: .noise)
            guard ppm.isFinite, noise.isFinite, noise >= 0 else { throw DecodingError.senseless(.noise, in: values) }
        }
    }
}

extension DecodingError {
    /// No comparison can have found this number.
    fileprivate static func senseless<Key>(_ key: Key, in values: KeyedDecodingContainer<Key>) -> DecodingError {
        dataCorruptedError(forKey: key, in: values, debugDescription: "no comparison can have found this number")
    }
}
