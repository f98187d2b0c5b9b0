/// What follows from the figures under one load, in a few sentences: whether the default backend is enough, what each
/// other row would save and cost, and which rows can be told apart by their tails. It says nothing that an interval
/// does not.
package struct Advice: Sendable {
    /// Each a sentence with its full stop.
    package let sentences: [String]

    /// A row that misses so many percent of its deadlines does not serve the period; nobody pays for so few
    /// nanoseconds.
    private static let (hopeless, negligible) = (5.0, 500.0)

    package init(_ report: Report, under load: String) {
        let rows = report.rows.filter { $0.key.load == load }
        // Two builds have their verdicts.
        guard rows.count > 1, !rows.contains(where: { $0.key.row.hasPrefix(RowKey.other) }),
            let base = rows.first(where: { $0.base == nil })
        else {
            sentences = []
            return
        }
        let others = rows.filter { $0.base != nil }
        if others.contains(where: { $0.p50Ratio?.estimate.interval == nil }) {
            sentences = ["Too few laps to compare the rows: measure longer (--time)."]
            return
        }
        let period = report.results.options.period
        let busy = load == RowKey.idle && report.results.machine.isBusy
        sentences = [
            Self.impossible(rows, period), Self.middle(base, others, period), Self.tail(base, others, busy),
        ]
        .compactMap(\.self)
    }

    /// Every row missed too many deadlines, or fell behind: the period is too short for this machine.
    private static func impossible(_ rows: [RowReport], _ period: UInt64) -> String? {
        guard !rows.contains(where: { serves(period, $0) }) else { return nil }
        return "\(DurationText.spaced(nanoseconds: period)) is too short a period here: every row missed more than "
            + "\(NumberText.fixed(hopeless, places: 0)) % of its deadlines, or was a whole period late."
    }

    /// A row that catches up misses nothing, and is late instead.
    private static func serves(_ period: UInt64, _ row: RowReport) -> Bool {
        (row.missed?.value ?? 0) <= hopeless && (row.p50?.value ?? 0) < Double(period)
    }

    private static func middle(_ base: RowReport, _ others: [RowReport], _ period: UInt64) -> String? {
        let earlier = others.filter { row in
            row.key.kind != .bare && row.p50Ratio?.verdict == .earlier && -(row.difference?.value ?? 0) > negligible
        }
        let isServed = serves(period, base)
        guard isServed || !earlier.isEmpty else { return nil }
        guard !earlier.isEmpty else { return "\(base.key.row) is enough: no other row is earlier by p50." }
        // With one such row, its saving has just been named.
        let isNamed = isServed && earlier.count == 1
        let savings = earlier.map { row in
            let saved = isNamed ? "them" : NumberText.time(-(row.difference?.value ?? 0))
            return "\(row.key.row) saves \(saved)\(price(of: row, base))\(drawback(of: row, base))"
        }
        let subject = isNamed ? NumberText.time(-(earlier[0].difference?.value ?? 0)) : "such differences"
        let start = isServed ? "\(base.key.row) is enough unless \(subject) matter: " : "By p50 "
        return start + savings.joined(separator: "; ") + "."
    }

    private static func price(of row: RowReport, _ base: RowReport) -> String {
        guard let cpu = row.cpu?.value, let own = base.cpu?.value else { return "" }
        if cpu - own < 0.5 { return "" }
        return " for \(NumberText.fixed(cpu - own, places: 0)) % of a core"
    }

    /// What the middle hides: a later tail, or more missed deadlines.
    private static func drawback(of row: RowReport, _ base: RowReport) -> String {
        var parts: [String] = []
        if row.p99Ratio?.verdict == .later, let tail = row.tailDifference {
            parts.append("its p99 is \(NumberText.time(tail.value)) later")
        }
        if let missed = row.missed, let own = base.missed, let least = missed.interval?.lowerBound,
            least > own.interval?.upperBound ?? own.value, missed.value - own.value >= 0.5
        {
            parts.append("it missed \(NumberText.fixed(missed.value, places: 1)) % of its deadlines")
        }
        return parts.isEmpty ? "" : ", but \(parts.joined(separator: ", and "))"
    }

    private static func tail(_ base: RowReport, _ others: [RowReport], _ isBusy: Bool) -> String? {
        guard others.contains(where: { $0.p99Ratio != nil }) else { return nil }
        func names(_ verdict: Ratio.Verdict) -> String {
            others.filter { $0.p99Ratio?.verdict == verdict }.map(\.key.row).joined(separator: ", ")
        }
        let parts = [(names(.earlier), "before"), (names(.later), "later than")]
            .filter { !$0.0.isEmpty }.map { "\($0.0) \($0.1) \(base.key.row)" }
        let remedy = isBusy ? ": the machine was busy. Repeat when idle." : "."
        if parts.isEmpty { return "By p99 this run tells no row from \(base.key.row)\(remedy)" }
        return "By p99 \(parts.joined(separator: "; "))\(remedy)"
    }
}
