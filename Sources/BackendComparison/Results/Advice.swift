/// What follows from the figures, in a few sentences. A row that is named as earlier or later is so by its verdict.
extension Report {
    /// Each a sentence with its full stop: first those by p50, then those by p99. A conclusion that holds under several
    /// loads is one sentence.
    var advice: [String] {
        let found = loads.flatMap { load in Conclusion.all(of: self, under: load).map { ($0, [load]) } }
        var joined: [(conclusion: Conclusion, loads: [String])] = []
        for (conclusion, loads) in found {
            let both = joined.map { $0.conclusion.joined(with: conclusion) }
            if let place = both.firstIndex(where: { $0 != nil }), let conclusion = both[place] {
                joined[place] = (conclusion, joined[place].loads + loads)
            } else {
                joined.append((conclusion, loads))
            }
        }
        let kinds = [joined.filter { !$0.conclusion.isOfTails }, joined.filter(\.conclusion.isOfTails)]
        let isPlain = loads == [RowKey.idle]
        let remedy =
            results.machine.isBusy && found.contains { $0.0 != .tooFewLaps && $0.1 == [RowKey.idle] }
            ? ["The machine was busy: repeat when it is idle."] : []
        return kinds.joined()
            .map { conclusion, loads in
                if !isPlain { return "\(Self.words(for: loads).capitalizedFirst), \(conclusion.text)." }
                return (conclusion.isName ? conclusion.text : conclusion.text.capitalizedFirst) + "."
            } + remedy
    }

    /// `when idle and under busy and cpu:2`
    private static func words(for loads: [String]) -> String {
        let others = loads.filter { $0 != RowKey.idle }
        let parts = [loads.count > others.count ? "when idle" : nil, others.isEmpty ? nil : "under \(others.listed)"]
        return parts.compactMap(\.self).listed
    }
}

extension [String] {
    /// As English has it: `a`, `a and b`, `a, b and c`.
    var listed: String {
        count < 2 ? joined() : "\(dropLast().joined(separator: ", ")) and \(self[count - 1])"
    }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}

/// What follows from the figures under one load or several: a sentence without its full stop.
private struct Conclusion: Hashable, Sendable {
    /// A part of the sentence. Under several loads times and prices have two ends.
    enum Part: Hashable, Sendable {
        case text(String)
        /// Nanoseconds.
        case time(ClosedRange<Double>)
        /// Percent of a core.
        case price(ClosedRange<Double>)
    }

    private(set) var parts: [Part]
    /// Whether it begins with the name of a row, which keeps its small letter.
    var isName = false
    /// Whether it is about the p99.
    var isOfTails = false

    static let tooFewLaps = Conclusion(
        parts: [.text("there are too few laps to compare the rows: measure longer (--time)")]
    )

    /// A row that misses so many percent of its deadlines does not serve the period; fewer nanoseconds are not worth a
    /// sentence; and a lower price is none.
    fileprivate static let (hopeless, negligible, cheap) = (5.0, 500.0, 0.5)
    /// The earlier rows that are described; of others, the name is enough.
    private static let most = 2

    /// The conclusions under one load. Without a second row there are no comparisons.
    static func all(of report: Report, under load: String) -> [Conclusion] {
        let rows = report.rows.filter { $0.key.load == load }
        return comparisons(of: rows.filter { $0.key.kind != .relative }, in: report)
            + rows.filter(\.runsAway).map(runaway)
    }

    /// A row that keeps no grid becomes later with each second.
    private static func runaway(_ row: RowReport) -> Conclusion {
        let nanoseconds = 1000 * (row.drift?.value ?? 0)
        let parts: [Part] = [
            .text("\(row.key.row) runs away, by "), .time(nanoseconds...nanoseconds), .text(" each second and "),
            .time(60 * nanoseconds...60 * nanoseconds),
            .text(" a minute: it sleeps for a period, and not until a deadline"),
        ]
        return Conclusion(parts: parts, isName: true)
    }

    private static func comparisons(of rows: [RowReport], in report: Report) -> [Conclusion] {
        guard rows.count > 1, let base = rows.first(where: { $0.base == nil }) else { return [] }
        let others = rows.filter { $0.base != nil }
        if others.contains(where: { $0.p50Ratio?.estimate.interval == nil }) { return [tooFewLaps] }
        let period = report.results.options.period
        let all = [
            rows.contains { serves(period, $0) } ? nil : tooShort(period),
            middles(base, others, isEnough: serves(period, base)), tails(base, others),
        ]
        return all.compactMap(\.self)
    }

    /// A row that catches up misses nothing, and is late instead.
    private static func serves(_ period: UInt64, _ row: RowReport) -> Bool {
        (row.missed?.value ?? 0) <= hopeless && (row.p50?.value ?? 0) < Double(period)
    }

    private static func tooShort(_ period: UInt64) -> Conclusion {
        let text =
            "\(DurationText.spaced(nanoseconds: period)) is too short a period here: every row missed more than "
            + "\(NumberText.fixed(hopeless, places: 0)) % of its deadlines, or was a whole period late"
        return Conclusion(parts: [.text(text)])
    }

    /// Whether the default backend is enough, and what each earlier row would save and cost; nil if there is nothing to
    /// recommend. The bare loops are no choice.
    private static func middles(_ base: RowReport, _ others: [RowReport], isEnough: Bool) -> Conclusion? {
        let earlier =
            others.filter { $0.key.kind != .bare && $0.p50Ratio?.verdict == .earlier && $0.saving >= negligible }
            .sorted { $0.saving > $1.saving }
        guard let first = earlier.first else {
            let least = NumberText.time(negligible)
            let text = "\(base.key.row) is good enough: at p50, no other backend is earlier by \(least) or more"
            return isEnough ? Conclusion(parts: [.text(text)], isName: true) : nil
        }
        func time(_ row: RowReport) -> Part { .time(row.saving...row.saving) }
        let difference = earlier.count == 1 ? time(first) : .text("such differences")
        var parts = [.text("at p50, ")] as [Part]
        if isEnough { parts = [.text("\(base.key.row) is good enough unless "), difference, .text(" matter; ")] }
        for (place, row) in earlier.prefix(most).enumerated() {
            let cost = row.cpu.flatMap { cpu in base.cpu.map { cpu.value - $0.value } } ?? 0
            parts += [
                .text("\(place > 0 ? "; " : "")\(row.key.row) is "), time(row), .text(" earlier"),
                .price(cost...cost), .text(drawback(of: row, base)),
            ]
        }
        let rest = earlier.dropFirst(most).map(\.key.row)
        if !rest.isEmpty { parts.append(.text("; \(rest.listed) \(rest.count == 1 ? "is" : "are") also earlier")) }
        return Conclusion(parts: parts, isName: isEnough)
    }

    /// What the middle hides: a later p99, and missed deadlines, if they are more than the base's.
    private static func drawback(of row: RowReport, _ base: RowReport) -> String {
        var parts: [String] = []
        if row.p99Ratio?.verdict == .later, let later = row.tailDifference?.value {
            parts.append("its p99 is \(NumberText.time(later)) later")
        }
        if let missed = row.missed, let own = base.missed, let least = missed.interval?.lowerBound,
            least > own.interval?.upperBound ?? own.value, missed.value - own.value >= 0.5
        {
            parts.append("it missed \(NumberText.fixed(missed.value, places: 1)) % of its deadlines")
        }
        return parts.isEmpty ? "" : ", but \(parts.joined(separator: ", and "))"
    }

    /// The rows that differ from the base by p99.
    private static func tails(_ base: RowReport, _ others: [RowReport]) -> Conclusion? {
        guard others.contains(where: { $0.p99Ratio != nil }) else { return nil }
        func words(_ verdict: Ratio.Verdict) -> String? {
            let rows = others.filter { $0.p99Ratio?.verdict == verdict }.map(\.key.row)
            return rows.isEmpty ? nil : "\(rows.listed) \(rows.count == 1 ? "is" : "are") \(verdict.rawValue)"
        }
        let text =
            switch (words(.earlier), words(.later)) {
            case (let earlier?, let later?): "\(earlier) than \(base.key.row), and \(later)"
            case (let one?, nil), (nil, let one?): "\(one) than \(base.key.row)"
            case (nil, nil): "no row differs measurably from \(base.key.row)"
            }
        return Conclusion(parts: [.text("at p99, \(text)")], isOfTails: true)
    }

    /// One conclusion instead of this and that of another load; nil if they say different things.
    func joined(with other: Conclusion) -> Conclusion? {
        var both = self
        both.parts = zip(parts, other.parts).compactMap { $0.joined(with: $1) }
        return both.parts.count == parts.count && parts.count == other.parts.count ? both : nil
    }

    var text: String { parts.map(\.text).joined() }
}

extension Conclusion.Part {
    fileprivate func joined(with other: Self) -> Self? {
        switch (self, other) {
        case (.time(let one), .time(let two)): .time(one.united(with: two))
        case (.price(let one), .price(let two)): .price(one.united(with: two))
        default: self == other ? self : nil
        }
    }

    fileprivate var text: String {
        switch self {
        case .text(let text): text
        case .time(let time): Self.text(time)
        case .price(let price): Self.text(ofPrice: price)
        }
    }

    /// `39 µs`; from several loads `29 to 45 µs`.
    private static func text(_ time: ClosedRange<Double>) -> String {
        let ends = [NumberText.time(time.lowerBound), NumberText.time(time.upperBound)]
        if ends[0] == ends[1] { return ends[0] }
        let units = ends.map { $0.drop { $0 != " " } }
        return "\(units[0] == units[1] ? String(ends[0].prefix { $0 != " " }) : ends[0]) to \(ends[1])"
    }

    private static func text(ofPrice price: ClosedRange<Double>) -> String {
        let ends = [price.lowerBound, price.upperBound].map { NumberText.fixed($0, places: 0) }
        if price.upperBound < Conclusion.cheap { return "" }
        if price.lowerBound < Conclusion.cheap { return " and costs up to \(ends[1]) % of a core" }
        return " and costs \(ends[0] == ends[1] ? ends[0] : "\(ends[0]) to \(ends[1])") % of a core"
    }
}

extension RowReport {
    /// Nanoseconds by which the row is earlier than its base by p50.
    fileprivate var saving: Double { -(difference?.value ?? 0) }
}

extension ClosedRange<Double> {
    /// The range from the lower of both lower ends to the higher of the upper ones.
    fileprivate func united(with other: Self) -> Self {
        Swift.min(lowerBound, other.lowerBound)...Swift.max(upperBound, other.upperBound)
    }
}
