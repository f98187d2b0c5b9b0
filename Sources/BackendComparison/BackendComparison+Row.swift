public import PreciseTimer
internal import TimerResults

extension BackendComparison {
    /// The figures of one backend.
    public struct Row: Hashable, Codable, Sendable {
        /// The backend.
        public let backend: TimerService.Backend
        /// The number of deadlines that the figures are of.
        public let deadlines: Int
        /// Half of the deadlines were served within this time. A missed deadline counts until the tick that stood for
        /// it.
        public let p50: Duration
        /// 99 % of the deadlines were served within this time; all of them, if they are fewer than a hundred.
        public let p99: Duration
        /// Holds the true p99 in 99 of 100 comparisons, and in fewer if a few stalls make the p99. Nil if the
        /// comparison was too short to say: it takes 800 deadlines.
        public let p99Range: ClosedRange<Duration>?
        /// The share of the deadlines that got no tick of their own, from 0 to 1.
        public let missed: Double
        /// The slope of the lateness over time; nil if the comparison was too short to say.
        public let drift: PreciseTimer.Statistics.Drift?
        /// The share of one processor that the whole process took while this backend ticked, without the thread that
        /// measures: 0.02 is 2 %. So a program that does other work meanwhile is in it.
        public let cpu: Double

        /// Nil for a row that is not of a backend.
        init?(_ row: RowReport) {
            guard let backend = TimerService.Backend(rawValue: row.key.row) else { return nil }
            self.backend = backend
            deadlines = Int(clamping: row.deadlines)
            p50 = Self.duration(row.p50?.value ?? row.row.lateness.percentile(50))
            p99 = Self.duration(row.p99?.value ?? row.worst)
            p99Range = row.p99?.interval.map { Self.duration($0.lowerBound)...Self.duration($0.upperBound) }
            missed = (row.missed?.value ?? 0) / 100
            drift = row.row.drift.map { PreciseTimer.Statistics.Drift(ppm: $0.ppm, noise: $0.noise) }
            cpu = (row.cpu?.value ?? 0) / 100
        }

        /// Whole nanoseconds. A file may have any number.
        private static func duration(_ nanoseconds: Double) -> Duration {
            .nanoseconds(Int64(exactly: min(max(nanoseconds, 0), 1e18).rounded()) ?? 0)
        }
    }
}
