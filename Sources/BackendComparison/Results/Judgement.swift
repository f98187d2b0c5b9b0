internal import Foundation

/// A need held against a report. A figure meets a bound only with its whole interval, and fails it only with its whole
/// interval; otherwise the measurement is too short to say.
struct Judgement: Codable, Hashable, Sendable {
    /// From the best to the worst.
    enum Outcome: String, CaseIterable, Codable, Comparable, Sendable {
        case meets, undecided, fails

        static func < (first: Outcome, second: Outcome) -> Bool {
            first != second && allCases.first { [first, second].contains($0) } == first
        }

        /// The exit code of the command.
        var exitCode: Int32 {
            switch self {
            case .meets: 0
            case .fails: 1
            case .undecided: 4
            }
        }

        var words: String {
            switch self {
            case .meets: "met"
            case .undecided: "undecided"
            case .fails: "not met"
            }
        }
    }

    /// A row, held against all conditions that are about it.
    struct Finding: Codable, Hashable, Sendable {
        let row: String
        let load: String
        let outcome: Outcome
        /// The measured figure, and what a decision still needs.
        let reason: String

        /// The row's name in needs, as `timerfd@cpu:2`.
        var name: String { RowKey.name(row, under: load) }
    }

    /// The need's text.
    let need: String
    let findings: [Finding]
    /// Conditions without a row are met if one backend meets them all, under every load. Those with a row must be met
    /// by that row.
    let outcome: Outcome

    private enum CodingKeys: String, CodingKey {
        case need, outcome
        case findings = "rows"
    }
}

/// Holding needs against reports.
extension Judgement {
    /// Holds a need against a measurement, and against those of the files that it names. Throws `Failure` if it cannot
    /// be applied: it must not pass for one that is met.
    init(_ need: Need, of report: Report, earlier: [String: Report] = [:]) throws(Failure) {
        try need.check(for: report.results.rows.map(\.key), earlier: earlier)
        let (named, free) = (need.clauses.filter { $0.row != nil }, need.clauses.filter { $0.row == nil })
        var findings: [Finding] = []
        for clause in named {
            for row in report.rows where clause.concerns(row.key) {
                findings.append(Self.finding([clause], row, report, earlier))
            }
        }
        let backends = report.rows.filter { $0.key.kind == .backend }
        let candidates = free.isEmpty ? [] : backends.map { Self.finding(free, $0, report, earlier) }
        let outcomes = Dictionary(grouping: zip(backends, candidates), by: \.0.key.row)
            .map { _, rows in rows.map(\.1.outcome).max() ?? .undecided }
        // A row that ended before its first lap has no figures.
        let isMissing = named.contains { clause in !report.rows.contains { clause.concerns($0.key) } }
        outcome =
            [
                findings.map(\.outcome).max() ?? .meets, free.isEmpty ? .meets : outcomes.min() ?? .undecided,
                isMissing ? .undecided : .meets,
            ]
            .max() ?? .meets
        self.need = need.description
        self.findings = findings + candidates.sorted { $0.outcome < $1.outcome }
    }

    private static func finding(
        _ clauses: [Need.Clause],
        _ row: RowReport,
        _ report: Report,
        _ earlier: [String: Report]
    ) -> Finding {
        let results = clauses.map { apply($0.condition, to: row, report, earlier) }
        let broken = row.row.problem.map { [(Outcome.fails, $0)] } ?? []
        let all = results + broken
        return Finding(
            row: row.key.row,
            load: row.key.load,
            outcome: all.map(\.0).max() ?? .undecided,
            reason: all.map(\.1).joined(separator: ", ")
        )
    }

    private static func apply(
        _ condition: Need.Condition,
        to row: RowReport,
        _ report: Report,
        _ earlier: [String: Report]
    ) -> (Outcome, String) {
        if let answer = ofNoGrid(condition, row) { return answer }
        switch condition {
        case .below(let figure, let bound): return hold(figure, of: row, bound, isUpper: true)
        case .above(let figure, let bound): return hold(figure, of: row, bound, isUpper: false)
        case .later(let figure, let share, .row(let name)):
            guard let rival = report.row(name, load: row.key.load) else { return (.undecided, "\(name) has no lap") }
            let ratio =
                figure == .p50
                ? report.results.ratio(of: row.row, to: rival.row)
                : Rounds(row.row.turns).ratio(to: Rounds(rival.row.turns), 99)
            let range = rangeTime(figure, of: [row, rival])
            return decide(ratio, figure, share, than: name, rangeTime: range)
        case .later(let figure, let share, .file(let path)):
            guard let before = earlier[path] else { return (.undecided, "\(path) was not read") }
            if let difference = before.results.difference(from: report.results) {
                return (.undecided, "\(path) is from another machine or has other options: \(difference)")
            }
            let old = before.row(row.key.row, load: row.key.load)?.bareRatio
            let range = old?.estimate.interval == nil ? measureLonger : rangeTime(figure, of: [row])
            return decide(row.bareRatio.flatMap { Ratio($0, since: old) }, figure, share, than: path, rangeTime: range)
        }
    }

    /// A row that runs away is later than any bound; nil for another row, and for another figure.
    private static func ofNoGrid(_ condition: Need.Condition, _ row: RowReport) -> (Outcome, String)? {
        let (figure, isBounded): (Figure, Bool) =
            switch condition {
            case .below(let figure, _), .later(let figure, _, _): (figure, true)
            case .above(let figure, _): (figure, false)
            }
        guard row.key.kind == .relative, figure == .missed || figure.percent != nil else { return nil }
        guard row.runsAway, let drift = row.drift else { return (.undecided, "it keeps no grid") }
        return (isBounded ? .fails : .meets, "it runs away, \(Figure.drift.text(drift))")
    }

    private static func hold(_ figure: Figure, of row: RowReport, _ bound: Double, isUpper: Bool) -> (Outcome, String) {
        guard let known = row.figures[figure] else { return (.undecided, missing(figure, of: row)) }
        // A drift to either side is a drift.
        let estimate = figure == .drift ? known.magnitude : known
        let text = "\(figure.rawValue) \(figure.text(estimate))"
        guard let interval = estimate.interval else { return (.undecided, text + rangeTime(figure, of: [row])) }
        if isUpper ? interval.upperBound < bound : interval.lowerBound > bound { return (.meets, text) }
        if isUpper ? interval.lowerBound >= bound : interval.upperBound <= bound { return (.fails, text) }
        return (.undecided, text + longer(interval, around: estimate.value, to: bound))
    }

    private static func decide(
        _ ratio: Ratio?,
        _ figure: Figure,
        _ share: Double,
        than name: String,
        rangeTime: String
    ) -> (Outcome, String) {
        guard let estimate = ratio?.estimate, let interval = estimate.interval else {
            let few = figure == .p50 ? "laps" : "deadlines"
            return (.undecided, "too few \(few) to compare \(figure.rawValue) with \(name)\(rangeTime)")
        }
        func percent(_ ratio: Double) -> String { NumberText.fixed(100 * (ratio - 1), places: 1) }
        let text =
            "\(figure.rawValue) \(percent(estimate.value)) % later than \(name) "
            + "(\(percent(interval.lowerBound)) to \(percent(interval.upperBound)))"
        if interval.upperBound <= 1 + share { return (.meets, text) }
        if interval.lowerBound > 1 + share { return (.fails, text) }
        return (.undecided, text + longer(interval, around: estimate.value, to: 1 + share))
    }

    /// Why a row lacks a figure.
    private static func missing(_ figure: Figure, of row: RowReport) -> String {
        switch figure {
        case .cpu, .wakeUps, .switches: "the kernel does not show \(figure.rawValue)"
        default: "too few deadlines for \(figure.rawValue)\(rangeTime(figure, of: [row]))"
        }
    }

    private static let measureLonger = ": measure longer (--time)"

    /// How much longer a measurement must be for a range of a figure, which some rows lack.
    private static func rangeTime(_ figure: Figure, of rows: [RowReport]) -> String {
        let times = rows.map { row in
            let laps = Double(Ratio.fewest) / Double(max(row.row.turns.count, 1))
            let deadlines = figure.percent.map { Double(Rounds.fewestForRange(of: $0)) } ?? 0
            return max(laps, deadlines / Double(max(row.deadlines, 1)))
        }
        guard figure != .drift, let most = times.max() else { return measureLonger }
        return "; a range takes about \(NumberText.fixed(max(most.rounded(.up), 2), places: 0)) times as long"
    }

    /// How much longer a measurement must be, about: an interval shrinks with the square root of the time.
    private static func longer(_ interval: ClosedRange<Double>, around value: Double, to bound: Double) -> String {
        let reach = bound > value ? interval.upperBound - value : value - interval.lowerBound
        let times = (reach / (bound - value)) * (reach / (bound - value))
        guard times.isFinite, times < 100 else { return "; too close to tell" }
        return "; a decision takes about \(NumberText.fixed(max(times.rounded(.up), 2), places: 0)) times as long"
    }
}

extension Need {
    /// Checks that the need can be applied to some rows.
    ///
    /// - Throws: `Failure` if a row that it names is not measured, or a file lacks a row.
    func check(for keys: [RowKey], earlier: [String: Report]) throws(Failure) {
        let names = keys.map(\.description).joined(separator: ", ")
        for clause in clauses {
            let concerned = keys.filter { clause.row == nil ? $0.kind == .backend : clause.concerns($0) }
            guard !concerned.isEmpty else {
                throw .invalid("\(self): no measured row is \(clause.row ?? "a backend"); the rows are \(names)")
            }
            guard case .later(_, _, let rival) = clause.condition else { continue }
            switch rival {
            case .row(let name):
                guard let other = keys.first(where: { $0.row == name }) else {
                    throw .invalid("\(self): no measured row is \(name); the rows are \(names)")
                }
                guard other.kind != .relative else {
                    throw .invalid("\(self): \(name) keeps no grid, so nothing is later or earlier than it")
                }
                guard !concerned.contains(where: { $0.row == name }) else {
                    throw .invalid("\(self): a row cannot be later than itself")
                }
            case .file(let path):
                for key in concerned {
                    let bare = RowKey(RowKey.bare, .bare, load: key.load)
                    guard key != bare, keys.contains(bare) else {
                        throw .invalid("\(self): two runs are compared relative to the row bare: measure it, too")
                    }
                    for needed in [key, bare] where earlier[path]?.row(needed.row, load: needed.load) == nil {
                        throw .invalid("\(self): \(path) has no \(needed)")
                    }
                }
            }
        }
    }
}

extension Ratio {
    /// How much two runs of one program differ beyond what their own laps show, as a natural logarithm: 8 %. The laps
    /// of a run are paired, those of two runs are not.
    private static let betweenRuns = 0.08

    /// A multiple of the bare loop in a new run as a multiple of the same in an old run; nil without the old one.
    fileprivate init?(_ new: Ratio, since old: Ratio?) {
        guard let old else { return nil }
        let value = new.estimate.value / old.estimate.value
        guard let before = old.estimate.interval, let after = new.estimate.interval else {
            self.init(Estimate(value))
            return
        }
        let reaches = [before, after].map { log($0.upperBound / $0.lowerBound) / 2 } + [Self.betweenRuns]
        let reach = exp(reaches.reduce(0) { $0 + $1 * $1 }.squareRoot())
        self.init(Estimate(value, value / reach...value * reach))
    }
}
