internal import FoundationEssentials

/// The plain values that the page's pictures are drawn from.
struct PageData: Encodable, Hashable, Sendable {
    /// A row, in all loads.
    struct Row: Encodable, Hashable, Sendable {
        let name: String
        let kind: Case.Kind
        let hue: Int
        let variant: Int
    }

    /// A round's place in time, in microseconds.
    struct Round: Encodable, Hashable, Sendable {
        let start: UInt64
        let end: UInt64
        let disturbances: [String]
    }

    /// A line of percentiles, in nanoseconds: at ``PageData/nines`` as far as its ticks reach, then the greatest value.
    struct Curve: Encodable, Hashable, Sendable {
        let count: Int
        let values: [Int64]
    }

    /// A row under a load.
    struct Entry: Encodable, Hashable, Sendable {
        /// As rules and messages name it.
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
        /// The same with the deadlines that got no tick of their own.
        let deadlines: Curve
        let drift: Drift?
        let cpu: Double?
        /// When each stretch began, in microseconds.
        let times: [UInt64]
        let medians: [Int64]
        let greatest: [Int64]
    }

    /// Where curves have points: 1 is 90 %, 2 is 99 %, and so on.
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
        var rows: [(name: String, kind: Case.Kind)] = []
        for row in report.rows.map(\.case) {
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
        entries = report.rows.map { Entry($0, timeline.stretches(of: $0.case, in: rounds)) }
    }

    /// As it stands in the page, its keys in alphabetical order.
    var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else { preconditionFailure("the page's values are all finite") }
        return PageText.inert(json: String(decoding: data, as: UTF8.self))
    }
}

extension PageData.Entry {
    fileprivate init(_ row: RowReport, _ stretches: [Stretch]) {
        name = row.case.description
        self.row = row.case.row
        load = row.case.load
        missed = row.missed
        p50 = row.lateness.p50
        p90 = row.lateness.p90
        p99 = row.lateness.p99
        p999 = row.lateness.p999
        max = row.lateness.max
        ticks = PageData.Curve(row.distribution)
        deadlines = PageData.Curve(row.correctedDistribution)
        drift = row.drift
        cpu = row.cpuPercent
        times = stretches.map { $0.time / 1000 }
        medians = stretches.map(\.median)
        greatest = stretches.map(\.greatest)
    }
}

extension PageData.Curve {
    /// Thins a distribution out. A share that less than one value stands for is none: there the greatest value is.
    fileprivate init(_ distribution: Distribution) {
        count = distribution.moments.count
        guard count > 0 else {
            values = []
            return
        }
        let reach = Double(count)
        let scales = PageData.grid.map { Self.power($0) }.filter { $0 < reach }
        values = distribution.percentiles(scales.map { 100 * (1 - 1 / $0) }) + [distribution.moments.max]
    }

    /// Ten to some tenths, without a C library: the tenth root of ten to 17 digits, and whole powers exactly.
    private static func power(_ nines: Double) -> Double {
        let tenths = Int((nines * 10).rounded())
        let whole = (0..<tenths / 10).reduce(1.0) { power, _ in power * 10 }
        return (0..<tenths % 10).reduce(whole) { power, _ in power * 1.258925411794167210 }
    }
}
