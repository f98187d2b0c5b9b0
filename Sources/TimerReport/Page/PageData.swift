internal import FoundationEssentials
internal import TimerResults

/// The values of the page's pictures.
struct PageData: Encodable, Hashable, Sendable {
    /// A row under all loads.
    struct Row: Encodable, Hashable, Sendable {
        let name: String
        let kind: RowKey.Kind
        let hue: Int
        let variant: Int
    }

    /// A round's place in time, in microseconds.
    struct Round: Encodable, Hashable, Sendable {
        let start: UInt64
        let end: UInt64
        let disturbances: [String]
    }

    /// A line of percentiles in nanoseconds: at ``PageData/nines`` as far as the ticks reach, then the greatest value.
    struct Curve: Encodable, Hashable, Sendable {
        let count: Int
        let values: [Int64]
    }

    /// A row under a load.
    struct Entry: Encodable, Hashable, Sendable {
        /// The name in rules and messages.
        let name: String
        let row: String
        let load: String
        let missed: UInt64
        let p50: Int64
        let p90: Int64
        let p99: Int64
        let p999: Int64
        let max: Int64
        let ticks: Curve
        /// The same with missed deadlines.
        let deadlines: Curve
        let drift: Drift?
        let cpu: Double?
        /// The start of each stretch, in microseconds.
        let times: [UInt64]
        let medians: [Int64]
        let greatest: [Int64]
    }

    /// The points of curves: 1 is 90 %, 2 is 99 %, and so on.
    let nines: [Double]
    let loads: [String]
    let rows: [Row]
    let rounds: [Round]
    let entries: [Entry]

    /// A tenth of a nine from one point to the next, up to one value in ten million.
    static let grid = (0...70).map { Double($0) / 10 }

    init(_ report: Report) {
        let rounds = report.results.rounds
        let timeline = PageTimeline(rounds)
        var loads: [String] = []
        var rows: [(name: String, kind: RowKey.Kind)] = []
        for row in report.rows.map(\.key) {
            if !loads.contains(row.load) { loads.append(row.load) }
            if !rows.contains(where: { $0.name == row.row }) { rows.append((row.row, row.kind)) }
        }
        nines = Self.grid
        self.loads = loads
        self.rows = zip(rows, PageLook.of(rows))
            .map { Row(name: $0.name, kind: $0.kind, hue: $1.hue, variant: $1.variant) }
        self.rounds = zip(rounds, timeline.spans)
            .map { round, span in
                Round(
                    start: span.start / 1000,
                    end: span.end / 1000,
                    disturbances: round.disturbances
                )
            }
        entries = report.rows.map { Entry($0, timeline.stretches(of: $0.key, in: rounds)) }
    }

    /// The JSON for the page, with keys in alphabetical order.
    var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else { preconditionFailure("the page's values are all finite") }
        return PageText.inert(json: String(decoding: data, as: UTF8.self))
    }
}

extension PageData.Entry {
    fileprivate init(_ row: RowReport, _ stretches: [Stretch]) {
        name = row.key.description
        self.row = row.key.row
        load = row.key.load
        missed = row.missed
        p50 = row.lateness.percentile(50)
        p90 = row.lateness.percentile(90)
        p99 = row.lateness.percentile(99)
        p999 = row.lateness.percentile(99.9)
        max = row.lateness.moments.max
        ticks = PageData.Curve(row.lateness)
        deadlines = PageData.Curve(row.corrected)
        drift = row.drift
        cpu = row.cpuPercent
        times = stretches.map { $0.time / 1000 }
        medians = stretches.map(\.median)
        greatest = stretches.map(\.greatest)
    }
}

extension PageData.Curve {
    /// Thins a distribution out. Beyond the share of one value there is only the greatest value.
    fileprivate init(_ distribution: Distribution) {
        count = distribution.moments.count
        guard count > 0 else {
            values = []
            return
        }
        let reach = Double(count)
        let scales = PageData.grid.map { Self.power($0) }.filter { $0 < reach }
        values = scales.map { distribution.percentile(100 * (1 - 1 / $0)) } + [distribution.moments.max]
    }

    /// A power of ten in tenths, without a C library: from the tenth root of ten to 17 digits. Whole powers are exact.
    private static func power(_ nines: Double) -> Double {
        let tenths = Int((nines * 10).rounded())
        let whole = (0..<tenths / 10).reduce(1.0) { power, _ in power * 10 }
        return (0..<tenths % 10).reduce(whole) { power, _ in power * 1.258925411794167210 }
    }
}
