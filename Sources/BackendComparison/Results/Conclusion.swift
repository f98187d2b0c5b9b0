/// What follows from the figures under one load or several.
enum Conclusion: Hashable, Sendable {
    case tooFewLaps
    /// A row that keeps no grid becomes later by so many nanoseconds each second; under several loads, a range.
    case runsAway(row: String, by: ClosedRange<Double>)
    /// Every row missed too many deadlines, or fell behind: a period of so many nanoseconds is too short here.
    case tooShort(period: UInt64)
    case middles(Middles)
    case tails(Tails)

    /// A row that misses so many percent of its deadlines does not serve the period; nobody pays for so few
    /// nanoseconds.
    static let (hopeless, negligible) = (5.0, 500.0)

    /// The conclusions under one load. Without a second row there are no comparisons.
    static func all(of report: Report, under load: String) -> [Conclusion] {
        let rows = report.rows.filter { $0.key.load == load }
        let runaways = rows.filter(\.runsAway)
            .map { row in
                let nanoseconds = 1000 * (row.drift?.value ?? 0)
                return Conclusion.runsAway(row: row.key.row, by: nanoseconds...nanoseconds)
            }
        return comparisons(of: rows.filter { $0.key.kind != .relative }, in: report) + runaways
    }

    private static func comparisons(of rows: [RowReport], in report: Report) -> [Conclusion] {
        guard rows.count > 1, let base = rows.first(where: { $0.base == nil }) else { return [] }
        let others = rows.filter { $0.base != nil }
        if others.contains(where: { $0.p50Ratio?.estimate.interval == nil }) { return [.tooFewLaps] }
        let period = report.results.options.period
        return [
            rows.contains { serves(period, $0) } ? nil : .tooShort(period: period),
            Middles(base, others, isEnough: serves(period, base)).map { .middles($0) },
            Tails(base, others).map { .tails($0) },
        ]
        .compactMap(\.self)
    }

    /// A row that catches up misses nothing, and is late instead.
    private static func serves(_ period: UInt64, _ row: RowReport) -> Bool {
        (row.missed?.value ?? 0) <= hopeless && (row.p50?.value ?? 0) < Double(period)
    }

    /// One conclusion instead of this and that of another load; nil if they say different things.
    func joined(with other: Conclusion) -> Conclusion? {
        if case .runsAway(let row, let one) = self, case .runsAway(row, let two) = other {
            return .runsAway(row: row, by: one.united(with: two))
        }
        if case .middles(let one) = self, case .middles(let two) = other {
            return one.joined(with: two).map { .middles($0) }
        }
        return self == other ? self : nil
    }
}

/// Whether the default backend is enough, and what each earlier row would save and cost.
struct Middles: Hashable, Sendable {
    let base: String
    /// Whether the base serves the period.
    let isEnough: Bool
    /// The rows that are earlier by p50, from the one that saves most.
    private(set) var savings: [Saving]

    /// Nil if there is nothing to recommend. The bare loops are no choice.
    fileprivate init?(_ base: RowReport, _ others: [RowReport], isEnough: Bool) {
        let earlier = others.filter { row in
            row.key.kind != .bare && row.p50Ratio?.verdict == .earlier
                && -(row.difference?.value ?? 0) >= Conclusion.negligible
        }
        guard isEnough || !earlier.isEmpty else { return nil }
        (self.base, self.isEnough) = (base.key.row, isEnough)
        savings = earlier.map { Saving($0, base) }.sorted { $0.time.lowerBound > $1.time.lowerBound }
    }

    /// A drawback is of its load: with one, only equal conclusions are joined.
    fileprivate func joined(with other: Middles) -> Middles? {
        guard (base, isEnough) == (other.base, other.isEnough), savings.count == other.savings.count else { return nil }
        var both = self
        for place in savings.indices {
            guard let own = other.savings.first(where: { $0.row == savings[place].row }),
                let saving = savings[place].joined(with: own)
            else { return nil }
            both.savings[place] = saving
        }
        return both
    }
}

/// What a row saves and costs, compared with the base. Under several loads times and prices have two ends.
struct Saving: Hashable, Sendable {
    let row: String
    /// Nanoseconds.
    let time: ClosedRange<Double>
    /// Percent of a core.
    let price: ClosedRange<Double>
    /// What the middle hides: nanoseconds by which the p99 is later, and the percent of missed deadlines, if they are
    /// more than the base's.
    let laterTail: Double?
    let missed: Double?

    /// A lower price is none.
    static let cheap = 0.5

    fileprivate init(_ row: RowReport, _ base: RowReport) {
        self.row = row.key.row
        let saved = -(row.difference?.value ?? 0)
        time = saved...saved
        let cost = row.cpu.flatMap { cpu in base.cpu.map { cpu.value - $0.value } } ?? 0
        price = cost...cost
        laterTail = row.p99Ratio?.verdict == .later ? row.tailDifference?.value : nil
        missed = row.missed.flatMap { missed in
            guard let own = base.missed, let least = missed.interval?.lowerBound,
                least > own.interval?.upperBound ?? own.value, missed.value - own.value >= 0.5
            else { return nil }
            return missed.value
        }
    }

    private init(_ row: String, time: ClosedRange<Double>, price: ClosedRange<Double>) {
        (self.row, self.time, self.price, laterTail, missed) = (row, time, price, nil, nil)
    }

    fileprivate func joined(with other: Saving) -> Saving? {
        if self == other { return self }
        guard [laterTail, missed, other.laterTail, other.missed].allSatisfy({ $0 == nil }) else { return nil }
        func both(_ ends: KeyPath<Saving, ClosedRange<Double>>) -> ClosedRange<Double> {
            self[keyPath: ends].united(with: other[keyPath: ends])
        }
        return Saving(row, time: both(\.time), price: both(\.price))
    }
}

/// The rows that can be told from the base by p99.
struct Tails: Hashable, Sendable {
    let base: String
    let earlier: [String]
    let later: [String]

    /// Nil if no row has a p99.
    fileprivate init?(_ base: RowReport, _ others: [RowReport]) {
        guard others.contains(where: { $0.p99Ratio != nil }) else { return nil }
        func names(_ verdict: Ratio.Verdict) -> [String] {
            others.filter { $0.p99Ratio?.verdict == verdict }.map(\.key.row)
        }
        (self.base, earlier, later) = (base.key.row, names(.earlier), names(.later))
    }
}

extension ClosedRange<Double> {
    /// The range from the lower of both lower ends to the higher of the upper ones.
    fileprivate func united(with other: Self) -> Self {
        Swift.min(lowerBound, other.lowerBound)...Swift.max(upperBound, other.upperBound)
    }
}
