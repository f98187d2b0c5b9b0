/// What follows from the figures, in a few sentences. A row that is named as earlier or later is so by its verdict.
struct Advice: Sendable {
    /// Each a sentence with its full stop: first those by p50, then those by p99. A conclusion that holds under several
    /// loads is one sentence.
    let sentences: [String]

    init(_ report: Report) {
        let loads = report.loads
        let found = loads.flatMap { load in Conclusion.all(of: report, under: load).map { ($0, [load]) } }
        let joined = found.reduce(into: [(conclusion: Conclusion, loads: [String])]()) { joined, next in
            for place in joined.indices {
                guard let both = joined[place].conclusion.joined(with: next.0) else { continue }
                joined[place] = (both, joined[place].loads + next.1)
                return
            }
            joined.append((next.0, next.1))
        }
        let kinds = [joined.filter { !$0.conclusion.isOfTails }, joined.filter(\.conclusion.isOfTails)]
        let isPlain = loads == [RowKey.idle]
        let remedy =
            report.results.machine.isBusy && found.contains { $0.0 != .tooFewLaps && $0.1 == [RowKey.idle] }
            ? ["The machine was busy: repeat when it is idle."] : []
        sentences =
            kinds.joined().map { Self.sentence($0.conclusion, under: isPlain ? nil : Self.words(for: $0.loads)) }
            + remedy
    }

    /// `when idle and under busy and cpu:2`
    private static func words(for loads: [String]) -> String {
        let others = loads.filter { $0 != RowKey.idle }
        let parts = [loads.count > others.count ? "when idle" : nil, others.isEmpty ? nil : "under \(others.listed)"]
        return parts.compactMap(\.self).listed
    }

    private static func sentence(_ conclusion: Conclusion, under place: String?) -> String {
        let words = conclusion.words
        guard let place else { return (words.isName ? words.text : words.text.capitalizedFirst) + "." }
        return "\(place.capitalizedFirst), \(words.text)."
    }
}

extension Conclusion {
    fileprivate var isOfTails: Bool {
        if case .tails = self { true } else { false }
    }

    /// A sentence without its full stop, and whether it begins with the name of a row, which keeps its small letter.
    fileprivate var words: (text: String, isName: Bool) {
        switch self {
        case .tooFewLaps: ("there are too few laps to compare the rows: measure longer (--time)", false)
        case .tooShort(let period):
            (
                "\(DurationText.spaced(nanoseconds: period)) is too short a period here: every row missed more than "
                    + "\(NumberText.fixed(Self.hopeless, places: 0)) % of its deadlines, or was a whole period late",
                false
            )
        case .runsAway(let row, let time):
            (
                "\(row) runs away, by \(time.timeText) each second and \((time * 60).timeText) a minute: it sleeps for "
                    + "a period, and not until a deadline", true
            )
        case .middles(let middles): (middles.text, middles.isEnough)
        case .tails(let tails): ("at p99, \(tails.text)", false)
        }
    }
}

extension Middles {
    /// The rows that are described; of others, the name is enough.
    private static let most = 2

    fileprivate var text: String {
        guard !savings.isEmpty else {
            let least = NumberText.time(Conclusion.negligible)
            return "\(base) is enough: at p50, no other backend is earlier by \(least) or more"
        }
        // With one such row, its saving has just been named.
        let isNamed = isEnough && savings.count == 1
        let parts = savings.prefix(Self.most)
            .map { "\($0.row) saves \(isNamed ? "them" : $0.time.timeText)\($0.priceText)\($0.drawbackText)" }
        let others = savings.dropFirst(Self.most).map(\.row)
        let rest = others.isEmpty ? [] : ["\(others.listed) \(others.count == 1 ? "is" : "are") also earlier"]
        let start =
            isEnough
            ? "\(base) is enough unless \(isNamed ? savings[0].time.timeText : "such differences") matter: "
            : "at p50, "
        return start + (parts + rest).joined(separator: "; ")
    }
}

extension Saving {
    fileprivate var priceText: String {
        let ends = [price.lowerBound, price.upperBound].map { NumberText.fixed($0, places: 0) }
        if price.upperBound < Self.cheap { return "" }
        if price.lowerBound < Self.cheap { return " for up to \(ends[1]) % of a core" }
        return " for \(ends[0] == ends[1] ? ends[0] : "\(ends[0]) to \(ends[1])") % of a core"
    }

    fileprivate var drawbackText: String {
        let parts = [
            laterTail.map { "its p99 is \(NumberText.time($0)) later" },
            missed.map { "it missed \(NumberText.fixed($0, places: 1)) % of its deadlines" },
        ]
        .compactMap(\.self)
        return parts.isEmpty ? "" : ", but \(parts.joined(separator: ", and "))"
    }
}

extension ClosedRange<Double> {
    /// `39 µs`; from several loads `29 to 45 µs`.
    fileprivate var timeText: String {
        let ends = [NumberText.time(lowerBound), NumberText.time(upperBound)]
        if ends[0] == ends[1] { return ends[0] }
        let units = ends.map { $0.drop { $0 != " " } }
        return "\(units[0] == units[1] ? String(ends[0].prefix { $0 != " " }) : ends[0]) to \(ends[1])"
    }

    fileprivate static func * (range: Self, factor: Double) -> Self {
        range.lowerBound * factor...range.upperBound * factor
    }
}

extension Tails {
    fileprivate var text: String {
        func words(_ rows: [String], _ word: String) -> String? {
            rows.isEmpty ? nil : "\(rows.listed) \(rows.count == 1 ? "is" : "are") \(word)"
        }
        return switch (words(earlier, "earlier"), words(later, "later")) {
        case (let earlier?, let later?): "\(earlier) than \(base), and \(later)"
        case (let one?, nil), (nil, let one?): "\(one) than \(base)"
        case (nil, nil): "no row differs measurably from \(base)"
        }
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
